"""Decides when a returned message is next received: by its reason, its age and the breaker."""

from dataclasses import dataclass
from math import ceil

from .breaker import Row
from .times import LONGEST_WAIT_MS, MINUTE_MS, SECOND_MS, Times, clamp

# SQS takes 12 hours from the receive, and a machine may have held the message for 310 s of them.
LONGEST_SECONDS = 43_200 - 310
# The backlog of an outage returns in the order it came, this many times as fast.
_FASTER = 25
# Spread over four fifths of what the backlog needs at the limit, so that no slot lacks takers.
_SHARE = 0.8


@dataclass(frozen=True)
class Waiting:
    """A returned event, as far as its next attempt depends on it."""

    sent_ms: int
    reason: str
    # Of a claim that another holds, or one of our own that may still stand.
    lease_until_ms: int | None = None


@dataclass(frozen=True)
class Backlog:
    """The messages in the queue, in flight or not, and the limit they wait for."""

    messages: int
    per_minute: int


def delay_ms(
    event: Waiting, row: Row | None, backlog: Backlog | None, now_ms: int, u: float, times: Times
) -> float:
    """Returns the wait until the next attempt. `u`, 0 to 1, is the same for one subject."""
    until_ms = event.lease_until_ms
    lease_ms = max(0, until_ms - now_ms) + SECOND_MS if until_ms is not None else 0
    if event.reason == "HELD":
        return min(lease_ms or times.longest_hold_ms, times.longest_hold_ms)
    age_ms = max(0, now_ms - event.sent_ms)
    if age_ms > LONGEST_WAIT_MS:
        return (0.5 + u) * times.last_look_ms
    # Whose claims stay unanswered for days would use up its receives at one look a lease.
    return max(lease_ms, _by_its_reason(event, age_ms, row, backlog, now_ms, u, times))


def _by_its_reason(
    event: Waiting,
    age_ms: int,
    row: Row | None,
    backlog: Backlog | None,
    now_ms: int,
    u: float,
    times: Times,
) -> float:
    # A hold may last for hours; who looks in between sees that it ended early.
    pause_ms = min(times.longest_try_ms, max(0, row.until_ms - now_ms)) if row else 0
    if row and row.opened and row.since_ms is not None:
        later_ms = event.sent_ms - row.since_ms
        if later_ms >= -times.before_outage_ms:
            lasted_ms = now_ms - row.since_ms
            if lasted_ms > times.long_outage_ms:
                place = max(0, later_ms) / lasted_ms
                return _in_the_next_period(place, now_ms, times.longest_try_ms)
            ordered_ms = lasted_ms / 100 + max(0, later_ms) / _FASTER
            return pause_ms + min(times.longest_try_ms, ordered_ms) + u * times.spread_ms
    if event.reason == "LIMITED" and backlog:
        needed_ms = _SHARE * backlog.messages * MINUTE_MS / backlog.per_minute
        # So a raised limit is used within half an hour, however much waits.
        longest_ms = (0.5 + u / 2) * times.longest_try_ms
        return SECOND_MS + min(u * max(times.shortest_spread_ms, needed_ms), longest_ms)
    if event.reason == "CALL_FAILED":
        own_ms = clamp(age_ms, times.shortest_try_ms, times.longest_try_ms)
    elif event.reason == "BREAKER_OPEN" and row is None:  # closed while it was handed back
        return u * times.spread_ms
    else:
        look_ms = max(min(age_ms / 5, times.early_look_ms), age_ms / 10)
        own_ms = clamp(look_ms, times.shortest_look_ms, times.longest_try_ms)
    return max(pause_ms, (0.5 + u) * own_ms)


def _in_the_next_period(place: float, now_ms: int, period_ms: int) -> float:
    """One look a period, each event at its own moment of it: its place in the outage, 0 to 1.

    So the half hour in which the destination is back sees them in order, but for one cut: those
    whose moment was before come in the next.
    """
    return period_ms - now_ms % period_ms + place * period_ms


def whole_seconds(milliseconds: float) -> int:
    """Rounds up to the whole seconds that SQS takes."""
    return int(clamp(ceil(milliseconds / SECOND_MS), 1, LONGEST_SECONDS))
