"""What was handed back and is not settled: for whom it waits, until when, and what fails.

A record of the outcome log says when its message is seen again. What is due is being tried, or is
about to be; until it is recorded once more it waits for the same.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from pydantic import Field

from once.operate import log
from once.operate import phrases as words
from once.operate.deliveries import Delivery
from once.operate.model import Model
from once.operate.pace import Breaker, State
from once.operate.stack import Stack
from once.outcomes import SETTLED, Outcome
from once.records import OutcomeRecord

# The longest that a message can be hidden.
_LONGEST_MS = 12 * 3_600_000
# The queue's own visibility, where no return time was set; a try takes no longer.
_QUEUE_MS = 480_000
_NAMED = 50  # ids that fit into one search
_FAILED = "CALL_FAILED"
_SETTLED = f'"outcome": ?"({"|".join(sorted(SETTLED))})"'


class Waits(Model):
    """Events that were handed back for the same reason."""

    reason: str
    awaits: str = Field(description="Whom they wait for: the limit, the breaker, a person, …")
    events: int
    first_returns_at_ms: int
    last_returns_at_ms: int
    said: str = Field(description="The reason in words, with what the newest call ended in.")
    example: str = Field(
        description="The key of the one that waits longest; of a message without one, its id."
    )

    def returns(self, now_ms: int) -> str:
        """When they are tried again, behind the words `next try`."""
        last = words.clock(self.last_returns_at_ms)[:8]
        if self.last_returns_at_ms <= now_ms:
            return "now"
        if self.first_returns_at_ms <= now_ms:
            return f"now, the last at {last}"
        first = words.clock(self.first_returns_at_ms)[:8]
        return f"at {first}" if first == last else f"from {first} to {last}"


class Failing(Model):
    """A kind of event whose calls fail."""

    family: str
    events: int
    most_tries: int
    given_up: int = Field(
        description="Of these, the events that were given up in the last hour and replayed since. "
        "Only of an embedded stack is that read, else it is 0."
    )
    said: str = Field(description="What the newest of these calls ended in.")
    example: str = Field(description="The key of one of them.")

    def text(self, complete: bool) -> str:
        tries = f", {words.tries(self.most_tries)}" if self.most_tries else ""
        if tries and self.events > 1:
            tries += " at most"
        many = words.events(self.events, complete)
        if self.given_up:
            which = "" if self.given_up == self.events else f"{self.given_up:,} of them "
            many += f" ({which}given up before, and replayed)"
        return f"{self.family} fails, {many}{tries}: {self.said}"


def read(
    stack: Stack, now_ms: int, queued: int, hour: Sequence[OutcomeRecord] | None = None
) -> tuple[list[OutcomeRecord], bool]:
    """The newest record of each message that is not settled, and whether these are all.

    `queued` are on the queue; `hour` are all records of the last hour, where they were read. More
    than one search of the log answers can wait; then the newest are known.
    """
    found = log.search(stack, Outcome.RETRY.value, now_ms - _LONGEST_MS)
    complete = len(found) < log.MOST
    newest = newest_of(found)
    waits = [one for one in newest if returns_at_ms(one) > now_ms]
    due = [one for one in newest if now_ms - _QUEUE_MS < returns_at_ms(one) <= now_ms]
    if due and queued:
        settled = _settled(stack, due) if hour is None else _ends(hour)
        if settled is None:
            return waits, False
        waits += [one for one in due if one.message_id not in settled]
    return waits, complete


def newest_of(records: Iterable[OutcomeRecord]) -> list[OutcomeRecord]:
    """Of records of hand-backs, oldest first, the newest of each message."""
    return list({one.message_id: one for one in records if one.outcome is Outcome.RETRY}.values())


def _settled(stack: Stack, due: Collection[OutcomeRecord]) -> set[str] | None:
    """Their ids; None where the log holds more ends than one search answers."""
    pattern = _SETTLED if len(due) > _NAMED else "|".join(one.message_id for one in due)
    since_ms = min(one.recorded_at_ms for one in due)
    lines = log.insights(stack, stack.outputs["OutcomeLogGroupName"], since_ms, pattern)
    if len(lines) == log.MOST:
        return None
    return _ends(OutcomeRecord.read(line, at_ms) for at_ms, line in lines)


def _ends(records: Iterable[OutcomeRecord | None]) -> set[str]:
    return {one.message_id for one in records if one and one.outcome in SETTLED}


def returns_at_ms(record: OutcomeRecord) -> int:
    return record.returns_at_ms or record.recorded_at_ms + _QUEUE_MS


def by_reason(waiting: Iterable[OutcomeRecord], breaker: Breaker) -> list[Waits]:
    """The largest first; copies wait with their event and are not counted."""
    found: dict[str, list[OutcomeRecord]] = {}
    for record in _events(waiting):
        found.setdefault(record.reason or "RETRY", []).append(record)
    made = [
        Waits(
            reason=reason,
            awaits=_awaits(reason, breaker),
            events=len(records),
            first_returns_at_ms=min(map(returns_at_ms, records)),
            last_returns_at_ms=max(map(returns_at_ms, records)),
            said=_paused(breaker)
            if reason == "BREAKER_OPEN"
            else Delivery.of(max(records, key=lambda one: one.recorded_at_ms)).why,
            example=_name(min(records, key=lambda one: one.occurred_at_ms or one.recorded_at_ms)),
        )
        for reason, records in found.items()
    ]
    return sorted(made, key=lambda one: (-one.events, one.reason))


def _paused(breaker: Breaker) -> str:
    """Why nobody calls: a record of then does not tell, the breaker's row of now does."""
    if breaker.held is not None:
        return f"calls are held: {breaker.held}"
    if breaker.state is State.CLOSED:
        return "calls were paused and flow again"
    if breaker.hold_ended:
        return "calls were held, and the next event probes"
    if breaker.rate_limited:
        return "calls are paused, since the destination answered 429"
    return "calls are paused, since the destination answers nobody"


def _awaits(reason: str, breaker: Breaker) -> str:
    match reason:
        case "LIMITED":
            return "the limit"
        case "SETUP_FAULT":
            return "a repair"
        case "BREAKER_OPEN" if breaker.held is not None:
            return "a person"
        case "BREAKER_OPEN":
            return "the breaker"
        case "RATE_LIMITED":
            return "the destination"
        case "HELD":
            return "another execution"
    return "a retry"


def _name(record: OutcomeRecord) -> str:
    return f"{record.pk}/{record.sk}" if record.sk else record.message_id


def named(example: str) -> str:
    """How `once explain` is asked about it."""
    return f"once explain {example.split('/')[2] if '/' in example else example}"


def failing(waiting: Iterable[OutcomeRecord], hour: Iterable[OutcomeRecord] = ()) -> list[Failing]:
    """By family, the largest first; `hour` are all records of the last hour, where known."""
    given_up: dict[tuple[str | None, str | None], list[int]] = defaultdict(list)
    for one in hour:
        if one.reason == "GAVE_UP":
            given_up[one.pk, one.sk].append(one.occurred_at_ms or 0)

    def was_given_up(one: OutcomeRecord) -> bool:
        """A replay keeps the time; in a windowed family another time is another occurrence."""
        at_ms, window_ms = one.occurred_at_ms or 0, one.window_ms
        times_ms = given_up.get((one.pk, one.sk), ())
        return any(not window_ms or abs(at_ms - time_ms) <= window_ms for time_ms in times_ms)

    found: dict[str, list[OutcomeRecord]] = {}
    for record in _events(waiting):
        if record.reason == _FAILED and record.family:
            found.setdefault(record.family, []).append(record)
    made = []
    for family, records in found.items():
        newest = max(records, key=lambda one: one.recorded_at_ms)
        made.append(
            Failing(
                family=family,
                events=len(records),
                most_tries=max(record.tries or 0 for record in records),
                given_up=sum(map(was_given_up, records)),
                said=Delivery.of(newest).why,
                example=_name(newest),
            )
        )
    return sorted(made, key=lambda one: (-one.events, one.family))


def _events(waiting: Iterable[OutcomeRecord]) -> Iterator[OutcomeRecord]:
    return (record for record in waiting if record.copy_of is None)
