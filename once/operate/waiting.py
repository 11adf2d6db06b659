"""The events that were returned to the queue and are not settled: why, until when, what fails.

A record of the outcome log says when its message returns. A message that is due is being tried, or
is about to be; until it is recorded again it waits for the same.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import Field

from once.operate import log
from once.operate import phrases as words
from once.operate.model import Model
from once.operate.pace import Breaker, State
from once.operate.stack import Stack
from once.outcomes import SETTLED, Outcome
from once.reasons import REASONS
from once.records import QUEUE_MS, OutcomeRecord, name_unreached

# The longest that a message can be hidden.
_LONGEST_MS = 12 * 3_600_000
_PAUSED = "the end of the pause"
_NAMED = 50  # ids that fit into one search
_SETTLED = f'"outcome": ?"({"|".join(sorted(SETTLED))})"'


class Waits(Model):
    """Events that were returned to the queue for the same reason."""

    reason: str
    awaits: str = Field(description="What they wait for: the limit, the breaker, a repair, …")
    events: int
    since_ms: int = Field(description="When the first of them was returned, epoch milliseconds.")
    newest_ms: int = Field(description="When one of them was returned last.")
    first_returns_at_ms: int
    last_returns_at_ms: int
    sentence: str = Field(description="The reason in words, with the newest cause.")
    example: str = Field(
        description="The subject of the one that waits longest; without one, its message."
    )

    def text(self, now_ms: int) -> str:
        """Says when they are received next. During a pause no request is sent then."""
        return f"next {'check' if self.awaits == _PAUSED else 'attempt'} {self._when(now_ms)}"

    def _when(self, now_ms: int) -> str:
        last = words.format_clock(self.last_returns_at_ms)[:8]
        if self.last_returns_at_ms <= now_ms:
            return "now"
        if self.first_returns_at_ms <= now_ms:
            return f"from now to {last}"
        first = words.format_clock(self.first_returns_at_ms)[:8]
        return f"at {first}" if first == last else f"from {first} to {last}"


class Failing(Model):
    """A family whose requests fail."""

    family: str
    events: int
    most_tries: int
    since_ms: int = Field(description="When the first of them failed, epoch milliseconds.")
    sentence: str = Field(description="What the newest request ended in.")
    example: str = Field(description="The subject of one of them.")


@dataclass(frozen=True)
class Unsettled:
    """The newest record of each message that is not settled."""

    records: list[OutcomeRecord]
    since_ms: Mapping[str, int]
    """The time at which each message was first returned, by its id."""
    complete: bool
    """False if more can wait than one search of the log returns; then the newest are known."""

    @property
    def events(self) -> list[OutcomeRecord]:
        """Copies wait with their event and do not count."""
        return [one for one in self.records if one.copy_of is None]


def read_unsettled(stack: Stack, now_ms: int, queued: int) -> Unsettled:
    """Reads what waits, with `queued` messages on the queue."""
    found = log.search(stack, f'"{Outcome.RETRY}"', since_ms=now_ms - _LONGEST_MS)
    newest: dict[str, OutcomeRecord] = {}
    since_ms: dict[str, int] = {}
    for record in name_unreached(found.records):
        if record.outcome is Outcome.RETRY:
            newest[record.message_id] = record
            since_ms.setdefault(record.message_id, record.recorded_at_ms)
    waits = [one for one in newest.values() if one.due_at_ms > now_ms]
    due = [one for one in newest.values() if now_ms - QUEUE_MS < one.due_at_ms <= now_ms]
    if not queued:
        return Unsettled([], since_ms, True)
    if not due:
        return Unsettled(waits, since_ms, found.complete)
    pattern = _SETTLED if len(due) > _NAMED else "|".join(one.message_id for one in due)
    ends = log.search(stack, pattern, since_ms=min(one.recorded_at_ms for one in due))
    if not ends.complete:
        return Unsettled(waits, since_ms, False)
    settled = {one.message_id for one in ends.records if one.outcome in SETTLED}
    waits += [one for one in due if one.message_id not in settled]
    return Unsettled(waits, since_ms, found.complete)


def group_by_reason(unsettled: Unsettled, breaker: Breaker, now_ms: int) -> list[Waits]:
    """Groups what waits, the largest group first."""
    groups: dict[str, list[OutcomeRecord]] = defaultdict(list)
    for record in unsettled.events:
        groups[record.reason or "RETRY"].append(record)
    made = []
    for code, records in groups.items():
        oldest = min(records, key=lambda one: unsettled.since_ms[one.message_id])
        paused = code == "BREAKER_OPEN"
        awaits = REASONS[code].awaits if code in REASONS else "a retry"
        if paused and breaker.pause:
            awaits = _PAUSED
        elif paused and breaker.state is State.CLOSED:
            awaits = "a retry"
        made.append(
            Waits(
                reason=code,
                awaits=awaits,
                events=len(records),
                since_ms=unsettled.since_ms[oldest.message_id],
                newest_ms=_newest(records).recorded_at_ms,
                first_returns_at_ms=min(one.due_at_ms for one in records),
                last_returns_at_ms=max(one.due_at_ms for one in records),
                # A record of then does not say why; the breaker's row of now does.
                sentence=breaker.say_wait(now_ms) if paused else _newest(records).why,
                example=_example(oldest),
            )
        )
    return sorted(made, key=lambda one: (-one.events, one.reason))


def group_failing(unsettled: Unsettled) -> list[Failing]:
    """Groups the events whose requests failed by family, the largest group first."""
    groups: dict[str, list[OutcomeRecord]] = defaultdict(list)
    for record in unsettled.events:
        if record.reason == "CALL_FAILED" and record.family:
            groups[record.family].append(record)
    made = [
        Failing(
            family=family,
            events=len(records),
            most_tries=max(one.tries or 0 for one in records),
            since_ms=min(unsettled.since_ms[one.message_id] for one in records),
            sentence=_newest(records).why,
            example=_example(_newest(records)),
        )
        for family, records in groups.items()
    ]
    return sorted(made, key=lambda one: (-one.events, one.family))


def _newest(records: Sequence[OutcomeRecord]) -> OutcomeRecord:
    return max(records, key=lambda one: one.recorded_at_ms)


def _example(record: OutcomeRecord) -> str:
    return record.key.subject.id if record.key else record.message_id
