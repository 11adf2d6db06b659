"""Finds what needs attention: each finding has its remedy and commands to paste."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pydantic import Field

from once.operate import phrases as words
from once.operate.arrivals import find_silences
from once.operate.log import Part
from once.operate.model import Model
from once.operate.pace import State
from once.operate.waiting import Failing
from once.outcomes import Outcome
from once.reasons import REASONS

if TYPE_CHECKING:
    from once.operate.status import Status

_MINUTE_MS = 60_000
THROTTLED = "THROTTLED"
# A hiccup has passed by then, retries included.
_GRACE_MS = 5 * _MINUTE_MS
_HOUR_MS = 60 * _MINUTE_MS
_LONG_SECONDS = 86_400  # as the alarm events-waiting-long has it
# More families than these that fail at the same time are one fault of the destination.
_FEW_FAMILIES = 2


class Severity(StrEnum):
    """The topic on which an alarm would tell it."""

    PAGE = "page"
    TICKET = "ticket"


class Finding(Model):
    """Something that needs attention."""

    code: str = Field(description="Why, in one word of a list that may grow.")
    severity: Severity
    count: int | None = Field(description="How many events or messages; null if none is counted.")
    since_ms: int | None = Field(description="Since when, if that is known; epoch milliseconds.")
    sentence: str
    remedy: str = Field(description="What a person does about it.")
    commands: list[str] = Field(description="Commands that show more or help, to be pasted.")
    page: str = Field(description="The page about it.")


@dataclass(frozen=True)
class Kind:
    """The parts that all findings of one code share."""

    severity: Severity
    remedy: str
    runbook: str


_TICKET, _PAGE = Severity.TICKET, Severity.PAGE
KINDS = {
    "PAUSED": Kind(_TICKET, "ask the one who paused, then resume", "breaker-open"),
    "PIPE_STOPPED": Kind(_PAGE, "start it; if it stops again, read its log", "events-waiting"),
    "MACHINE_INACTIVE": Kind(_PAGE, "deploy again", "batches-failing"),
    "NOTHING_RECORDED": Kind(_PAGE, "repair what fails, immediately", "outcomes-unrecorded"),
    "EVENTS_PARKED": Kind(_TICKET, "remove the cause, then replay or drop them", "events-parked"),
    "DEAD_LETTERS": Kind(_TICKET, "remove the cause, then replay them", "dead-letters"),
    "RULE_DEAD_LETTERS": Kind(_TICKET, "repair the queue's policy or its key", "dead-letters"),
    "DESTINATION_DOWN": Kind(
        _TICKET, "repair the destination; events wait and spend no try", "breaker-open"
    ),
    "RATE_LIMITED": Kind(
        _TICKET, "wait; if it recurs, lower MaxActionsPerMinute", "the-destination-answers-429"
    ),
    "REQUESTS_FAIL": Kind(_TICKET, "repair what the cause names", "data-action-failing"),
    "EVENTS_AGEING": Kind(
        _TICKET, "end what they wait for; after 10 days they are parked", "events-waiting-long"
    ),
    "SOURCE_SILENT": Kind(_TICKET, "look at the integration and the rule", "events-silent"),
}


def find(
    status: "Status", now_ms: int, options: str = "", aws: Mapping[str, str] | None = None
) -> list[Finding]:
    """Finds what needs attention; commands get `options`, which name the stack.

    `aws` has commands of AWS: by a part of the stack, what it wrote; by THROTTLED, why Lambda
    refuses to run the function.
    """
    finder = _Finder(status, now_ms, options, aws or {})
    return [
        *finder.find_stopped(),
        *finder.find_unrecorded(),
        *finder.find_dead_ends(),
        *finder.find_failures(),
        *finder.find_waiting(),
        *finder.find_silences(),
        *finder.find_alarms(),
    ]


@dataclass(frozen=True)
class _Finder:
    status: "Status"
    now_ms: int
    options: str
    aws: Mapping[str, str]

    def find_stopped(self) -> Iterator[Finding]:
        status = self.status
        if status.breaker.pause is not None:
            pause = status.breaker.pause
            sentence = words.capitalise(pause.text(self.now_ms))
            yield self._make("PAUSED", sentence, "resume", since_ms=pause.since_ms)
        if status.pipe != "RUNNING":
            since_ms = status.pipe_since_ms
            since = f", last changed {words.format_second(since_ms)} UTC" if since_ms else ""
            why = status.pipe_reason or "AWS gives no reason"
            sentence = f"The pipe is {status.pipe}{since}: {why}"
            yield self._make("PIPE_STOPPED", sentence, "resume", since_ms=since_ms, aws=Part.PIPE)
        if status.machine != "ACTIVE":
            yield self._make("MACHINE_INACTIVE", f"The state machine is {status.machine}")

    def find_unrecorded(self) -> Iterator[Finding]:
        taken = self.status.unrecorded
        if taken is None:
            return
        waited_ms = self.now_ms - taken.since_ms
        if waited_ms < (_MINUTE_MS if taken.failing else _GRACE_MS):
            return
        since = words.format_second(taken.since_ms)
        sentence = (
            f"Messages were taken from the queue {words.count_times(taken.messages)} since {since} "
            "UTC, and no outcome was recorded"
        )
        if taken.failing:
            sentence += f": the {taken.failing} fails"
        yield self._make(
            "NOTHING_RECORDED",
            sentence,
            "check",
            count=taken.messages,
            since_ms=taken.since_ms,
            aws=taken.failing,
        )

    def find_dead_ends(self) -> Iterator[Finding]:
        _, parked, dead, undelivered = self.status.queues
        for queue, code, what, listing in (
            (parked, "EVENTS_PARKED", "Parked", "parked list"),
            (
                dead,
                "DEAD_LETTERS",
                "No longer tried, since their batch failed",
                "dead-letters list",
            ),
            (
                undelivered,
                "RULE_DEAD_LETTERS",
                "Not delivered by the rule",
                "dead-letters list --from rule",
            ),
        ):
            if queue.total:
                sentence = f"{what}: {words.count_events(queue.total)}"
                yield self._make(code, sentence, listing, count=queue.total)

    def find_failures(self) -> Iterator[Finding]:
        """Requests that fail: all of them, or those of one family while others succeed."""
        status, breaker = self.status, self.status.breaker
        # If nothing waits any more, the breaker's row only waits for the next response.
        if breaker.pause is not None or not (status.queues[0].total or status.failing):
            return
        since_ms = breaker.since_ms
        lasted_ms = self.now_ms - since_ms if since_ms is not None else 0
        if breaker.state is not State.CLOSED:
            answered = (
                one for one in status.waiting if one.reason in ("CALL_FAILED", "RATE_LIMITED")
            )
            newest = max(answered, key=lambda one: one.newest_ms, default=None)
            rate_limited = newest.reason == "RATE_LIMITED" if newest else breaker.rate_limited
            if rate_limited and lasted_ms < _GRACE_MS:
                return
            code = "RATE_LIMITED" if rate_limited else "DESTINATION_DOWN"
            sentence = words.capitalise(breaker.text(self.now_ms))
            if newest:
                sentence += f"; the last request: {newest.sentence}"
            finding = self._make(code, sentence, *self._examples(), since_ms=since_ms)
            if lasted_ms > _HOUR_MS:
                finding.severity = Severity.PAGE
            yield finding
            return
        lasting = [
            one
            for one in status.failing
            if one.most_tries > 2 or self.now_ms - one.since_ms >= _GRACE_MS
        ]
        if not lasting and breaker.failed and lasted_ms >= _GRACE_MS:
            sentence = words.capitalise(breaker.text(self.now_ms))
            yield self._make("REQUESTS_FAIL", sentence, count=breaker.failed, since_ms=since_ms)
        if len(lasting) > _FEW_FAMILIES and since_ms is not None:
            yield self._make_failing(lasting, f"{len(lasting)} families")
            return
        for one in lasting:
            yield self._make_failing([one], one.family)

    def _make_failing(self, failing: Sequence[Failing], what: str) -> Finding:
        status, first = self.status, failing[0]
        count = sum(one.events for one in failing)
        tries = max(one.most_tries for one in failing)
        said = f"{words.count_events(count, status.complete)} of {what} fail"
        said += f", {words.count_tries(tries)} at most" if tries else ""
        if status.breaker.since_ms is not None:
            since = words.format_second(status.breaker.since_ms)
            others = f"no request has succeeded since {since} UTC"
            # A second try counts only if a request succeeded after the first.
            others += ", so it may be an outage" if tries < 2 else ""
        elif status.outcomes[Outcome.PROCESSED]:
            others = "requests for others succeed"
        else:
            others = "nothing was acted on in the last hour, so it may be an outage"
        return self._make(
            "REQUESTS_FAIL",
            f"{said}: {first.sentence}; {others}",
            *self._examples(first.example),
            count=count,
            since_ms=min(one.since_ms for one in failing),
        )

    def find_waiting(self) -> Iterator[Finding]:
        for waits in self.status.waiting:
            reason = REASONS.get(waits.reason)
            if reason is not None and reason.remedy:
                events = words.count_events(waits.events, self.status.complete)
                last = f"last at {words.format_clock(waits.newest_ms)[:8]} UTC"
                yield Finding(
                    code=waits.reason,
                    severity=Severity.TICKET,
                    count=waits.events,
                    since_ms=waits.since_ms,
                    sentence=f"{events} returned to the queue, {last}: {waits.sentence}",
                    remedy=reason.remedy,
                    commands=[
                        *map(self._command, self._examples(waits.example)),
                        *(self.aws[one] for one in (reason.log, waits.reason) if one in self.aws),
                    ],
                    page=reason.page,
                )
        oldest = self.status.queues[0].oldest_seconds or 0
        if oldest > _LONG_SECONDS:
            age = words.format_age(oldest * 1000)
            sentence = f"The oldest event has waited for {age}"
            yield self._make("EVENTS_AGEING", sentence, since_ms=self.now_ms - oldest * 1000)

    def find_silences(self) -> Iterator[Finding]:
        for first, *more in find_silences(self.status.arrivals):
            what = f"{first.family} of {first.source}"
            if more:
                what = (
                    f"{len(more) + 1} families of {first.source}, the last of them {first.family}"
                )
            silent = words.format_age(self.now_ms - first.last_ms)
            yield self._make(
                "SOURCE_SILENT",
                f"Stopped? {what}: none for {silent} in which {first.usual:,} are usual",
                "check --look",
                since_ms=first.last_ms,
            )

    def find_alarms(self) -> Iterator[Finding]:
        for alarm in self.status.alarms:
            yield Finding(
                code="ALARM",
                severity=Severity.TICKET,
                count=None,
                since_ms=alarm.since_ms,
                sentence=f"Alarm {alarm.name}",
                remedy=alarm.description,
                commands=[],
                page=f"docs/runbook.md#{alarm.name}",
            )

    def _make(
        self,
        code: str,
        sentence: str,
        *commands: str,
        count: int | None = None,
        since_ms: int | None = None,
        aws: str | None = None,
    ) -> Finding:
        kind = KINDS[code]
        return Finding(
            code=code,
            severity=kind.severity,
            count=count,
            since_ms=since_ms,
            sentence=sentence,
            remedy=kind.remedy,
            commands=[
                *(self._command(one) for one in commands),
                *filter(None, [self.aws.get(aws or "")]),
            ],
            page=f"docs/runbook.md#{kind.runbook}",
        )

    def _command(self, typed: str) -> str:
        return f"once {typed}{self.options}"

    def _examples(self, example: str | None = None) -> list[str]:
        """The command about one event that waits for the destination; its id is quoted, since it
        is whatever its sender wrote."""
        status = self.status
        paused = (one for one in status.waiting if one.reason in ("RATE_LIMITED", "BREAKER_OPEN"))
        examples = [*(one.example for one in status.failing), *(one.example for one in paused)]
        found = example or next(iter(examples), None)
        return [f"explain {shlex.quote(found)}"] if found else []
