"""One event, one request: asks the breaker and the limit, sends, notes the end, says what follows.

`act` returns what was done, or that nothing may be sent for now. It raises what failed, with the
facts that the state machine writes down: the tries, and when the event comes back. It is a
generator of its steps and has no I/O of its own: the handler drives it with boto3 and a target, the
simulator with a virtual table, destination and clock. A driver throws `Unanswered` into it if the
table did not respond, an `ActionError` if the request did not succeed, and `NotNow` if none began.
"""

import json
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from . import breaker
from .breaker import Limiter, Open, Probe, Row, Times, Wait, judge, retry_in_seconds
from .errors import (
    ENDED,
    ActionError,
    Failed,
    GaveUp,
    NotNow,
    RateLimited,
    Rejected,
    Transient,
    Verdict,
    plain,
)
from .request import ActionRequest, Clock, body_text

Draw = Callable[[], float]
"""Returns a random number from 0 to 1."""
Json = dict[str, Any]
ActionTarget = Literal["none", "genesys", "webhook", "eventbridge", "lambda"]

# The row is good for the next events of this environment for so long.
FRESH_MS = 1_000
# A request begins at most so long after its row was read, and arrives within a second more: a
# pause, a 429 and an open breaker stop requests within 5 s.
BEGINS_WITHIN_MS = 4_000
# A refusal that any event would have met is taken for granted for so long.
REFUSED_MS = 30_000
# Events of other environments may have failed during a response as slow as this.
SLOW_MS = 1_000
_LOOKS = 3  # at the row, if other events change it meanwhile
_LONGEST_SLEEP_MS = 2_500  # longer waits for a token happen on the queue


class Unanswered(Exception):  # noqa: N818 - it reads as what happened
    """The table did not respond: a write may have been applied, or may be applied later."""


@dataclass(frozen=True)
class Read:
    """A GetItem with these arguments. Sent back: its response."""

    request: Mapping[str, Any]


@dataclass(frozen=True)
class Write:
    """A write with these arguments. Sent back: its response; None if its condition failed."""

    verb: Literal["update_item", "delete_item"]
    request: Mapping[str, Any]


@dataclass(frozen=True)
class Send:
    """The request to the destination, which begins before this time or never.

    Sent back: a Reply. Thrown: an ActionError, whose `started_ms` is None if no request began, or
    NotNow.
    """

    until_ms: int


@dataclass(frozen=True)
class Sleep:
    """A wait for a token. Sent back: None."""

    seconds: float


@dataclass(frozen=True)
class Reply:
    """A success of the destination, and when the request for it began."""

    started_ms: int
    status: int | None = None


Step = Read | Write | Send | Sleep
Steps = Generator[Step, Any, Json]


@dataclass(frozen=True)
class Rules:
    """The settings that decide if a request is sent, and what follows."""

    target: ActionTarget
    claim_table: str = ""
    limiter: Limiter | None = None
    max_tries: int = 20
    times: Times = field(default_factory=Times.of)


@dataclass
class Memory:
    """Holds what one environment of the function remembers between events."""

    row: Row | None = None
    read_ms: int | None = None
    refusal: ActionError | None = None
    refused_ms: int = 0


def act(
    request: ActionRequest,
    rules: Rules,
    memory: Memory,
    until_ms: int,
    now_ms: Clock,
    draw: Draw,
) -> Steps:
    """Yields the steps of one event. No request begins at `until_ms` or later."""
    return _Action(request, rules, memory, until_ms, now_ms, draw).steps()


@dataclass
class _Action:
    request: ActionRequest
    rules: Rules
    memory: Memory
    until_ms: int
    now_ms: Clock
    draw: Draw

    def __post_init__(self) -> None:
        self.tries = self.request.tries
        self.row: Row | None = None
        self.row_is_known = False
        self.probe_ms: int | None = None
        self.is_recalled = False

    def steps(self) -> Steps:
        try:
            if self._is_observed():
                return {"result": "ACTED", "reason": "OBSERVED", "requests": 0}
            yield from self._count_death()
            yield from self._take_turn()
            if self.rules.limiter:
                yield from self._take_token(self.rules.limiter)
            self._recall_refusal()
            reply: Reply = yield Send(self.until_ms)
        except NotNow as wait:
            return (yield from self._end_unsent(wait))
        except ActionError as error:
            raise (yield from self._end_failed(error)) from None
        yield from self._note_success(reply.started_ms)
        return {
            "result": "ACTED",
            "reason": "ACTED",
            "requests": self.request.retry + 1,
            "status": reply.status,
            "durationMs": self.now_ms() - reply.started_ms,
            "ageMs": max(0, self.now_ms() - self.request.event["occurredAtMs"]),
        }

    # Before the request.

    def _is_observed(self) -> bool:
        """Answers a canary, which only a bus sees, under a source of its own. A setup without a
        target sends nothing."""
        if self.request.is_canary:
            self._answer_canary()
            return self.rules.target != "eventbridge"
        return self.rules.target == "none"

    def _answer_canary(self) -> None:
        """Responds as the canary's body asks: rejected or failing until a time, then a success.

        Without an end, a canary that is delivered after its check would stay parked.
        """
        body = json.loads(body_text(self.request.event))
        if self.now_ms() < body.get("refuseUntilMs", 0):
            raise Rejected("a canary of once check, which asked to be refused")
        if self.now_ms() < body.get("failUntilMs", 0):
            raise Failed("a canary of once check, which asked to fail for a while")

    def _count_death(self) -> Generator[Step, Any, None]:
        """Counts the last claim of this event, if the function ended in it without an answer.

        Such an end is a failure like any other, noted now. After a first one the request follows
        immediately. An event that goes on to end the function waits between its requests, as after
        any failure, and is given up after MaxTries. Ends in which the function never ran to note
        them, however many, count once: a broken deployment gives up no event.
        """
        if not self.request.deaths:
            return
        is_first = not self.tries.count
        yield from self._note_failure(self.now_ms())
        if self._count_failure():
            raise GaveUp(ENDED)
        if not is_first or self.request.deaths > 1:
            raise Failed(f"{ENDED}; nothing was sent this time")

    def _take_turn(self) -> Generator[Step, Any, None]:
        """Raises NotNow unless the breaker lets a request through, or cannot be read."""
        try:
            for _ in range(_LOOKS):
                row = yield from self._read_row()
                now_ms = self.now_ms()
                verdict = judge(row, now_ms, self.rules.times)
                if isinstance(verdict, Wait):
                    raise NotNow(_sentence(verdict.reason, row), verdict.reason)
                if not isinstance(verdict, Open | Probe):
                    return
                self._forget_row()
                make = breaker.open_ if isinstance(verdict, Open) else breaker.probe
                write = make(self.rules.claim_table, verdict.seen, verdict.until_ms, now_ms)
                if (yield Write("update_item", write)) is None:
                    continue  # another event opened it, probes, or succeeded
                self.row = replace(verdict.seen, open_until_ms=verdict.until_ms)
                if isinstance(verdict, Probe):
                    self.probe_ms = verdict.until_ms
                    return
                break
        except Unanswered:
            self._forget_row()
            return  # the breaker protects the destination, never an event
        raise NotNow(_sentence("BREAKER_OPEN", self.row), "BREAKER_OPEN")

    def _read_row(self) -> Generator[Step, Any, Row | None]:
        memory, now_ms = self.memory, self.now_ms()
        if memory.read_ms is None or not 0 <= now_ms - memory.read_ms < FRESH_MS:
            response = yield Read(breaker.read(self.rules.claim_table))
            memory.row, memory.read_ms = Row.of(response.get("Item")), now_ms
        self.until_ms = min(self.until_ms, memory.read_ms + BEGINS_WITHIN_MS)
        self.row, self.row_is_known = memory.row, True
        return self.row

    def _take_token(self, limiter: Limiter) -> Generator[Step, Any, None]:
        """Takes a token, sleeping once if the next slot is near. Unanswered, nothing is sent."""
        for is_last in (False, True):
            slot = limiter.slot_at(self.now_ms())
            write = breaker.take_token(self.rules.claim_table, slot, limiter.quota, self.now_ms())
            try:
                if (yield Write("update_item", write)) is not None:
                    self.until_ms = min(self.until_ms, limiter.request_until_ms(slot))
                    return
            except Unanswered:
                raise NotNow("the table did not respond for the limit", "LIMITED") from None
            sleep_ms = limiter.wait_ms(self.now_ms(), self.draw())
            ends_ms = self.now_ms() + sleep_ms
            if is_last or sleep_ms > _LONGEST_SLEEP_MS or ends_ms >= self.until_ms:
                break
            yield Sleep(sleep_ms / 1_000)
        raise NotNow("MaxActionsPerMinute is used up", "LIMITED")

    def _recall_refusal(self) -> None:
        """Raises a refusal of a moment ago again; a probe asks the destination."""
        refusal, age_ms = self.memory.refusal, self.now_ms() - self.memory.refused_ms
        if refusal and self.probe_ms is None and 0 <= age_ms < REFUSED_MS:
            self.is_recalled = True
            raise type(refusal)(refusal.sentence, status=refusal.status, for_all=True)

    # After it.

    def _note_success(self, started_ms: int) -> Generator[Step, Any, None]:
        """Clears the row, if there is reason to think that there is one.

        The function has still to answer: an end before its answer repeats the request. So there
        is one write of at most 0.8 s, and none at all while the destination is healthy.
        """
        is_slow = self.now_ms() - started_ms > SLOW_MS
        if self.row is not None or self.request.retry or is_slow:
            self._forget_row()
            # Refused if a request failed since, or if a 429 or a pause is not over.
            clear = breaker.clear(self.rules.claim_table, started_ms)
            yield from self._try(Write("delete_item", clear))

    def _end_unsent(self, wait: NotNow) -> Steps:
        """Returns WAIT. A first request of this execution that failed counts now."""
        yield from self._end_probe()
        if self.request.retry:
            row = self.row
            # No row: a request succeeded since this event's own failure was noted.
            since_ms = row.since_ms if row else self.now_ms() if self.row_is_known else None
            self.tries = self.tries.after_failure(since_ms, self.now_ms())
        told = {"result": "WAIT", "reason": wait.why, "cause": plain(wait.sentence)}
        return told | self._facts(wait.why, None)

    def _end_failed(self, error: ActionError) -> Generator[Step, Any, Verdict]:
        """Notes the failure; returns what the state machine catches."""
        started_ms = error.started_ms
        requests = self.request.retry + (started_ms is not None and error.is_sent)
        is_repeated = False
        if error.for_all:
            if not self.is_recalled:
                self.memory.refusal, self.memory.refused_ms = error, self.now_ms()
            # It says as much as a request: that the destination cannot be used.
            yield from self._note_failure(started_ms or self.memory.refused_ms)
        elif started_ms is None:
            yield from self._end_probe()
        elif error.is_try:
            yield from self._note_failure(started_ms)
            if self._count_failure():
                error = GaveUp(error.sentence, status=error.status)
            else:
                is_repeated = self._may_repeat(error)
        elif isinstance(error, RateLimited):
            yield from self._note_rate_limited(error, started_ms)
        elif error.closes_breaker:
            yield from self._note_success(started_ms)
        facts = self._facts(error.reason, started_ms, requests=requests, status=error.status)
        verdict = error.verdict(**facts)
        return Transient(verdict.facts) if is_repeated else verdict

    def _count_failure(self) -> bool:
        """Counts a failure that was noted. Returns true if it was the last try."""
        before = self.tries
        self.tries = before.after_failure(self._since_ms(), self.now_ms())
        return self.tries.are_over(self.rules.max_tries, before)

    def _may_repeat(self, error: ActionError) -> bool:
        if self.request.retry or self.rules.limiter or not self.row_is_known:
            return False
        row = self.row
        is_outage = row is not None and (row.opened or row.failed >= breaker.MOST_FAILED)
        return error.repeatable and not is_outage

    def _note_failure(self, since_ms: int) -> Generator[Step, Any, None]:
        key = None if self.tries.count else self.request.idempotency_key
        table = self.rules.claim_table
        write = breaker.note_failure(table, since_ms, key, self.now_ms())
        self._forget_row()
        response = yield from self._try(Write("update_item", write))
        self.row_is_known = response is not None
        if response is not None:
            self.row = Row.of(response["Attributes"])

    def _note_rate_limited(self, error: RateLimited, started_ms: int) -> Generator[Step, Any, None]:
        table, now_ms = self.rules.claim_table, self.now_ms()
        until_ms = breaker.rate_limited_until_ms(now_ms, error.retry_after_seconds)
        self._forget_row()
        # Refused if a later time is in the row.
        write = breaker.note_rate_limited(table, started_ms, until_ms, now_ms)
        yield from self._try(Write("update_item", write))
        self.row = replace(self.row or Row(started_ms), not_before_ms=until_ms)

    def _end_probe(self) -> Generator[Step, Any, None]:
        """Lets another event probe, if this one sent nothing."""
        if self.probe_ms is not None:
            self._forget_row()
            write = breaker.end_probe(self.rules.claim_table, self.probe_ms, self.now_ms())
            yield from self._try(Write("update_item", write))

    def _try(self, write: Write) -> Generator[Step, Any, Any]:
        """Writes a note. If the table does not respond, the note is left out."""
        try:
            return (yield write)
        except Unanswered:
            return None

    def _forget_row(self) -> None:
        self.memory.read_ms = None

    def _since_ms(self) -> int | None:
        return self.row.since_ms if self.row is not None and self.row_is_known else None

    def _facts(self, reason: str, started_ms: int | None, **more: int | None) -> Json:
        """Says what the state machine writes down, and when the event comes back."""
        row, now_ms = self.row, self.now_ms()
        opened_ms = row.since_ms if row and row.opened else None
        waits_since_ms = int(self.request.event["waitsSinceMs"])
        times = self.rules.times
        facts = {
            "requests": self.request.retry,
            "durationMs": now_ms - started_ms if started_ms is not None else None,
            "tries": self.tries.count,
            "failedAtMs": self.tries.failed_at_ms,
            # They are in the tries now.
            "deaths": 0,
            "breakerSeconds": (now_ms - opened_ms) // 1_000 if opened_ms is not None else None,
            "retryInSeconds": retry_in_seconds(
                reason, waits_since_ms, row, now_ms, self.draw(), times
            ),
            **more,
        }
        return {name: value for name, value in facts.items() if value is not None}


def _sentence(reason: str, row: Row | None) -> str:
    if reason == "PAUSED" and row:
        return f"paused by {row.held_by}: {row.held}"
    if reason == "RATE_LIMITED":
        return "the destination asked to wait, and this time is not over"
    return "the breaker is open, since requests to the destination fail"
