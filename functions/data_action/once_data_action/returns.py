"""Decides when an event that waits comes back: by its reason, its age and the breaker's row."""

from math import ceil

from .breaker import Row
from .times import SECOND_MS, Times, clamp

_FASTER = 25  # so many times as fast as it arrived, the backlog of an outage comes back


def retry_in_seconds(
    reason: str, since_ms: int, row: Row | None, now_ms: int, u: float, times: Times
) -> int:
    """Returns the delay of the put-back message. `since_ms` is since when the event waits, `u` a
    random number from 0 to 1."""
    delay_ms = _delay_ms(reason, since_ms, row, now_ms, u, times)
    return int(clamp(ceil(delay_ms / SECOND_MS), 1, times.longest_ms // SECOND_MS or 1))


def _delay_ms(
    reason: str, since_ms: int, row: Row | None, now_ms: int, u: float, times: Times
) -> float:
    pause_ms = max(0, row.until_ms - now_ms) if row else 0
    if row and row.opened and row.since_ms is not None:
        later_ms = since_ms - row.since_ms
        if later_ms >= -times.before_outage_ms:
            lasted_ms = now_ms - row.since_ms
            if lasted_ms > times.long_outage_ms:
                return _in_the_next_period(max(0, later_ms) / lasted_ms, now_ms, times.period_ms)
            # The order in which the events arrived, behind the probe.
            ordered_ms = lasted_ms / 100 + max(0, later_ms) / _FASTER
            return pause_ms + ordered_ms + u * times.spread_ms
    age_ms = max(0, now_ms - since_ms)
    if reason == "LIMITED":
        own_ms = clamp(age_ms / 4, times.shortest_limited_ms, times.longest_own_ms)
    elif reason == "CALL_FAILED":
        own_ms = clamp(age_ms, times.shortest_try_ms, times.longest_own_ms)
    else:
        own_ms = clamp(age_ms / 5, times.shortest_look_ms, times.longest_own_ms)
    return max(pause_ms + u * times.spread_ms if pause_ms else 0, (0.5 + u) * own_ms)


def _in_the_next_period(place: float, now_ms: int, period_ms: int) -> float:
    """Places one look into each period, at the event's own moment: its place in the outage.

    So the period in which the destination is back sees the events in order, but for one cut:
    those whose moment was before the repair come in the next.
    """
    return period_ms - now_ms % period_ms + place * period_ms
