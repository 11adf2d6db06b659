"""Both conversations, step by step: each yields what is to be done and is sent what came of it.

So the same steps run in the Lambda, against the real table and queue, and in the simulation,
against a model of them in which hours pass in seconds. Whoever runs them raises UnansweredError
into them where the table or the queue gave no answer.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from . import returns
from .breaker import Flow, Open, Probe, Row, Wait, judge
from .breaker_row import rate_limited_until_ms
from .limiter import Limiter
from .payload import Begin, Candidate, End
from .settings import Settings
from .times import LONGEST_WAIT_MS, Times

# A batch that lost the row to another judges what that one wrote.
_LOOKS = 3
_WAITS = 2
# Longer waits for a slot happen on the queue, where they cost nothing.
_LONGEST_SLEEP_MS = 8_000

Clock = Callable[[], int]
Draw = Callable[[], float]
Answer = dict[str, Any]


class UnansweredError(Exception):
    """The table or the queue did not say whether it did what was asked."""


class Step(Protocol):
    """One thing to do."""


@dataclass(frozen=True)
class ReadRow:
    """Sent back: a Row, or None."""


@dataclass(frozen=True)
class NoteFailure:
    """Sent back: nothing of interest, as after each of those that follow without a note."""

    started_ms: int
    keys: Sequence[str]


@dataclass(frozen=True)
class NoteRateLimited:
    started_ms: int
    until_ms: int


@dataclass(frozen=True)
class Clear:
    started_ms: int


@dataclass(frozen=True)
class EndProbe:
    until_ms: int


@dataclass(frozen=True)
class TakeTokens:
    """Sent back: how many were used before, or None where the slot was used up."""

    slot: int
    wanted: int
    quota: int


@dataclass(frozen=True)
class GiveBackTokens:
    slot: int
    tokens: int


@dataclass(frozen=True)
class Sleep:
    milliseconds: int


@dataclass(frozen=True)
class CountMessages:
    """Sent back: how many are on the queue, in flight or not."""


@dataclass(frozen=True)
class Return:
    """One message's return time."""

    receipt: str
    seconds: int


@dataclass(frozen=True)
class SetReturns:
    """Sent back: the receipts that were taken."""

    returns: Sequence[Return]


Steps = Generator[Any, Any, Answer]


def begin(ask: Begin, settings: Settings, now_ms: Clock, draw: Draw) -> Steps:
    """Decides which events are returned for now, and how requests for the others may be sent.

    A row that stays unread is an error.
    """
    # By the clock of the state machine, which parks older events.
    waiting = [e for e in ask.events if ask.started_ms - e.sent_ms <= LONGEST_WAIT_MS]
    answer: Answer = {"requestsAllowed": 2, "requestUntilMs": ask.deadline_ms, "returned": []}
    if not waiting:
        return answer
    row = (yield ReadRow()) if ask.breaker_unread else ask.breaker
    verdict = yield from _turn(row, settings.times, now_ms)
    if isinstance(verdict, Wait):
        return answer | _returned(waiting, verdict.reason)

    # In time order, so that what is left out of a subject is its newest.
    wanted = sorted(waiting, key=lambda e: (e.occurred_ms, e.message_id))
    reason = "LIMITED"
    if isinstance(verdict, Probe):
        wanted = [min(waiting, key=lambda e: (e.receives, e.occurred_ms, e.message_id))]
        # A probe that is held up until another one may begin sends nothing.
        answer["requestUntilMs"] = min(ask.deadline_ms, verdict.until_ms)
        answer |= {"requestsAllowed": 1, "probe": verdict.until_ms}
        reason = "BREAKER_OPEN"
    if settings.limiter:
        answer["requestsAllowed"] = 1
        tokens = yield from _tokens(settings.limiter, len(wanted), ask.deadline_ms, now_ms, draw)
        if not tokens["tokens"]:
            if "probe" in answer:
                yield EndProbe(answer.pop("probe"))
            return answer | _returned(waiting, "LIMITED")
        answer |= tokens
        until_ms = settings.limiter.request_until_ms(tokens["slot"])
        answer["requestUntilMs"] = min(answer["requestUntilMs"], until_ms)
        wanted = wanted[: tokens["tokens"]]
    return answer | _returned([event for event in waiting if event not in wanted], reason)


def _returned(events: Sequence[Candidate], reason: str) -> Answer:
    return {
        "returned": [
            {"messageId": message_id, "reason": reason}
            for event in events
            for message_id in (event.message_id, *event.copies)
        ]
    }


def _turn(row: Row | None, times: Times, now_ms: Clock) -> Generator[Any, Any, Flow | Wait | Probe]:
    """Decides if requests flow, wait, or this batch probes."""
    for _ in range(_LOOKS):
        verdict = judge(row, now_ms(), times)
        if isinstance(verdict, Flow | Wait):
            return verdict
        if (yield verdict):
            return Wait("BREAKER_OPEN") if isinstance(verdict, Open) else verdict
        row = yield ReadRow()
    return Wait("BREAKER_OPEN")


def _tokens(
    limiter: Limiter, wanted: int, deadline_ms: int, now_ms: Clock, draw: Draw
) -> Generator[Any, Any, Answer]:
    for wait in range(_WAITS + 1):
        slot = limiter.slot_at(now_ms())
        used = yield TakeTokens(slot, wanted, limiter.quota)
        if used is not None and (granted := limiter.granted(wanted, used)):
            return {"slot": slot, "tokens": granted}
        sleep_ms = limiter.wait_ms(now_ms(), draw())
        if wait == _WAITS or sleep_ms > _LONGEST_SLEEP_MS or now_ms() + sleep_ms > deadline_ms:
            break
        yield Sleep(sleep_ms)
    return {"tokens": 0}


def end(ask: End, settings: Settings, now_ms: Clock, draw: Draw) -> Steps:
    """Tells the breaker how the batch ended, sets the next attempts, and gives tokens back.

    No step may cost the next ones, since the queue's visibility timeout holds anyway. The tokens
    come last: giving them back twice would exceed the limit, so nothing may fail after it.
    """
    yield from _learn(ask, now_ms)
    if ask.pace.probe_ms is not None and not ask.requests:
        yield from _tried(EndProbe(ask.pace.probe_ms))
    done = yield from _set_returns(ask, settings, now_ms, draw)
    left = ask.pace.tokens - ask.requests
    limiter = settings.limiter
    if (
        limiter
        and ask.pace.slot is not None
        and left > 0
        and now_ms() < limiter.ends_ms(ask.pace.slot)
    ):
        yield from _tried(GiveBackTokens(ask.pace.slot, left))
    return {"returns": done}


def _learn(ask: End, now_ms: Clock) -> Generator[Any, Any, None]:
    """Notes what our own data action could not note because it crashed or never began, and for a
    function of one's own all of it."""
    if ask.own_action and ask.answered and ask.breaker:
        yield from _tried(Clear(ask.started_ms))
    if ask.failed_ms is not None:
        yield from _tried(NoteFailure(ask.failed_ms, ask.failures))
    if ask.own_action and ask.retry_after_seconds is not None:
        now = now_ms()
        until_ms = rate_limited_until_ms(now, ask.retry_after_seconds)
        yield from _tried(NoteRateLimited(now, until_ms))


def _set_returns(
    ask: End, settings: Settings, now_ms: Clock, draw: Draw
) -> Generator[Any, Any, list[Answer]]:
    events = ask.events
    if not events:
        return []
    try:
        row = yield ReadRow()
    except UnansweredError:
        row = ask.breaker
    backlog = None
    if settings.limiter and any(event.reason == "LIMITED" for event in events):
        messages = yield from _tried(CountMessages())
        backlog = returns.Backlog(messages or 0, settings.limiter.per_minute)
    now = now_ms()
    subjects = {event.subject: draw() for event in events}
    asked = {}
    for event in events:
        waiting = returns.Waiting(event.sent_ms, event.reason, event.lease_until_ms)
        delay_ms = returns.delay_ms(
            waiting, row, backlog, now, subjects[event.subject], settings.times
        )
        for message_id, receipt in event.receipts.items():
            asked[message_id] = Return(receipt, returns.whole_seconds(delay_ms))
    taken = (yield from _tried(SetReturns(list(asked.values())))) or set()
    return [
        {"messageId": message_id, "returnsAtMs": now + 1_000 * one.seconds}
        for message_id, one in asked.items()
        if one.receipt in taken
    ]


def _tried(step: Step) -> Generator[Any, Any, Any]:
    try:
        return (yield step)
    except UnansweredError:
        return None
