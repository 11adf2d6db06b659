"""What was handed back and has not come back yet: why, until when, and which kinds of event fail.

A record of the outcome log says when its message is seen again. Until then nothing can settle it,
so what is due already is not counted: it acts, or is recorded once more.
"""

from collections.abc import Iterable, Iterator

from pydantic import Field

from once.operate import log
from once.operate import phrases as words
from once.operate.deliveries import Delivery
from once.operate.model import Model
from once.operate.stack import Stack
from once.records import OutcomeRecord
from once.run.report import Outcome

# The longest that a message can be hidden.
_LONGEST_MS = 12 * 3_600_000
# The queue's own visibility, where no return time was set.
_QUEUE_MS = 480_000
_FAILED = "CALL_FAILED"


class Waits(Model):
    """Events that were handed back for the same reason."""

    reason: str
    events: int
    first_returns_at_ms: int
    last_returns_at_ms: int

    def text(self) -> str:
        first, last = (
            words.clock(at)[:8] for at in (self.first_returns_at_ms, self.last_returns_at_ms)
        )
        back = f"back at {first}" if first == last else f"back from {first} to {last}"
        return f"{words.events(self.events)}, {back}: {words.reason(self.reason)} ({self.reason})"


class Failing(Model):
    """A kind of event whose calls fail."""

    family: str
    events: int
    most_tries: int
    said: str = Field(description="What the newest of these calls ended in.")
    example: str = Field(description="The key of one of them.")

    def text(self) -> str:
        tries = f", {self.most_tries} tries at most" if self.most_tries else ""
        return f"{self.family} fails, {words.events(self.events)}{tries}: {self.said}"


def read(stack: Stack, now_ms: int) -> list[OutcomeRecord]:
    """The newest record of each message that is not due yet."""
    return still_waiting(log.search(stack, Outcome.RETRY.value, now_ms - _LONGEST_MS), now_ms)


def still_waiting(records: Iterable[OutcomeRecord], now_ms: int) -> list[OutcomeRecord]:
    """Of records of hand-backs, oldest first."""
    newest = {one.message_id: one for one in records if one.outcome is Outcome.RETRY}
    return [one for one in newest.values() if returns_at_ms(one) > now_ms]


def returns_at_ms(record: OutcomeRecord) -> int:
    return record.returns_at_ms or record.recorded_at_ms + _QUEUE_MS


def by_reason(waiting: Iterable[OutcomeRecord]) -> list[Waits]:
    """The largest first; copies wait with their event and are not counted."""
    times: dict[str, list[int]] = {}
    for record in _events(waiting):
        times.setdefault(record.reason or "RETRY", []).append(returns_at_ms(record))
    made = [
        Waits(
            reason=reason,
            events=len(at_ms),
            first_returns_at_ms=min(at_ms),
            last_returns_at_ms=max(at_ms),
        )
        for reason, at_ms in times.items()
    ]
    return sorted(made, key=lambda one: (-one.events, one.reason))


def failing(waiting: Iterable[OutcomeRecord]) -> list[Failing]:
    """By family, the largest first."""
    found: dict[str, list[OutcomeRecord]] = {}
    for record in _events(waiting):
        if record.reason == _FAILED and record.family:
            found.setdefault(record.family, []).append(record)
    made = [
        Failing(
            family=family,
            events=len(records),
            most_tries=max(record.tries or 0 for record in records),
            said=Delivery.of(records[-1]).why,
            example=f"{records[-1].pk}/{records[-1].sk}",
        )
        for family, records in found.items()
    ]
    return sorted(made, key=lambda one: (-one.events, one.family))


def _events(waiting: Iterable[OutcomeRecord]) -> Iterator[OutcomeRecord]:
    return (record for record in waiting if record.copy_of is None)
