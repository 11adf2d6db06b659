"""The rate limit: a minute is cut into slots, and a row counts the tokens taken from each.

A token is good in its slot and two seconds more, and a call is at most half a second on its way:
what a slot allows arrives within the slot and 2.5 s. So a minute, wherever it begins, meets the
slots that touch 62.5 s, and all tokens of those together are never more than the limit.
"""

from dataclasses import dataclass
from math import ceil

_GRACE_MS = 2_000
_REACH_MS = 62_500


@dataclass(frozen=True)
class Limiter:
    """Of so many calls a minute, 10 or more."""

    per_minute: int

    @property
    def quota(self) -> int:
        """Tokens of a slot: those of a full batch where the limit has room for such slots."""
        return max(1, min(10, self.per_minute // 30), self.per_minute // 60)

    @property
    def slot_ms(self) -> int:
        """As many slots as may touch a minute, less the one that begins before it."""
        return ceil(_REACH_MS / max(1, self.per_minute // self.quota - 1))

    def slot_at(self, now_ms: int) -> int:
        """The number of the slot that the moment is in."""
        return now_ms // self.slot_ms

    def ends_ms(self, slot: int) -> int:
        """When no more tokens of it can be taken."""
        return (slot + 1) * self.slot_ms

    def call_until_ms(self, slot: int) -> int:
        """No call with its token begins after."""
        return self.ends_ms(slot) + _GRACE_MS

    def granted(self, wanted: int, used_before: int) -> int:
        """How many of the wanted tokens were still there."""
        return max(0, min(wanted, self.quota - used_before))

    def wait_ms(self, now_ms: int, u: float) -> int:
        """Until a moment in the next slot: batches refused together do not come back together."""
        return round(self.ends_ms(self.slot_at(now_ms)) - now_ms + u * self.slot_ms / 2)
