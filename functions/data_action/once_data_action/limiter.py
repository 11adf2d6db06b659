"""The rate limit: a minute is cut into slots, and a row counts the tokens taken from each.

A token is good in its slot and 1.5 s more. The clock is read again after connecting, so a request
is at most a second on its way: what a slot allows arrives within the slot and 2.5 s. So a minute,
wherever it begins, meets the slots that touch 62.5 s, and all tokens of those together are never
more than the limit.
"""

from dataclasses import dataclass
from math import ceil

_GRACE_MS = 1_500
_REACH_MS = 62_500


@dataclass(frozen=True)
class Limiter:
    """A limit of requests per minute, at least 10."""

    per_minute: int

    @property
    def quota(self) -> int:
        """The tokens of a slot."""
        return max(1, min(10, self.per_minute // 30), self.per_minute // 60)

    @property
    def slot_ms(self) -> int:
        """The length of a slot: a minute holds all slots it touches, less the first."""
        return ceil(_REACH_MS / max(1, self.per_minute // self.quota - 1))

    def slot_at(self, now_ms: int) -> int:
        """Returns the number of the slot that the moment is in."""
        return now_ms // self.slot_ms

    def request_until_ms(self, slot: int) -> int:
        """Returns the time after which no request with a token of the slot may begin."""
        return (slot + 1) * self.slot_ms + _GRACE_MS

    def wait_ms(self, now_ms: int, u: float) -> int:
        """Returns the wait until a moment in the next slot, spread over half of it."""
        ends_ms = (self.slot_at(now_ms) + 1) * self.slot_ms
        return round(ends_ms - now_ms + u * self.slot_ms / 2)
