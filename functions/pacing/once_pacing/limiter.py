"""The rate limit: a minute is cut into slots, and a row counts the tokens taken from each.

A token is good in its slot and 1.5 s more. The data action reads the clock again after it has
connected, so a request is at most a second on its way: what a slot allows arrives within the slot
and 2.5 s. So a minute, wherever it begins, meets the slots that touch 62.5 s, and all tokens of
those together are never more than the limit.
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
        """Tokens of a slot: those of a full batch where the limit has room for such slots."""
        return max(1, min(10, self.per_minute // 30), self.per_minute // 60)

    @property
    def slot_ms(self) -> int:
        """The length of a slot: a minute holds all slots it touches, less the first."""
        return ceil(_REACH_MS / max(1, self.per_minute // self.quota - 1))

    def slot_at(self, now_ms: int) -> int:
        """The number of the slot that the moment is in."""
        return now_ms // self.slot_ms

    def ends_ms(self, slot: int) -> int:
        """The time after which no token of the slot can be taken."""
        return (slot + 1) * self.slot_ms

    def request_until_ms(self, slot: int) -> int:
        """No call with its token begins after."""
        return self.ends_ms(slot) + _GRACE_MS

    def granted(self, wanted: int, used_before: int) -> int:
        """Returns how many of the wanted tokens were left."""
        return max(0, min(wanted, self.quota - used_before))

    def wait_ms(self, now_ms: int, u: float) -> int:
        """Returns the wait until a moment in the next slot, spread over half of it."""
        return round(self.ends_ms(self.slot_at(now_ms)) - now_ms + u * self.slot_ms / 2)
