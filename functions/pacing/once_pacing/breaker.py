"""The circuit breaker: decides from its row and the time if requests flow.

No row is CLOSED. While OPEN, no request is sent before the later of `open_until` and `not_before`.
Then it is HALF_OPEN: the batch that moves `open_until` sends one request, whose success deletes the
row.
"""

from dataclasses import dataclass

from .breaker_row import MOST_FAILED
from .times import Times, clamp


@dataclass(frozen=True)
class Row:
    """The row as read. `failed` counts events whose request failed for the first time."""

    since_ms: int | None = None
    failed: int = 0
    open_until_ms: int | None = None
    not_before_ms: int | None = None
    held: str | None = None

    @property
    def until_ms(self) -> int:
        """Nobody calls before; 0 while the breaker only counts."""
        return max(self.open_until_ms or 0, self.not_before_ms or 0)

    @property
    def opened(self) -> bool:
        """Returns true if it opened or an operator paused it, and no request succeeded since."""
        return self.open_until_ms is not None or self.held is not None


@dataclass(frozen=True)
class Flow:
    """Calls may be made."""


@dataclass(frozen=True)
class Wait:
    """No calls, and why."""

    reason: str


@dataclass(frozen=True)
class Open:
    """To be written, if the row is still as it was seen; then no calls until then."""

    seen: Row
    until_ms: int


@dataclass(frozen=True)
class Probe:
    """To be written, if the row is still as it was seen; then one call."""

    seen: Row
    until_ms: int


def judge(row: Row | None, now_ms: int, times: Times) -> Flow | Wait | Open | Probe:
    """Decides by the row and the time."""
    if row is None:
        return Flow()
    if now_ms < row.until_ms:
        return Wait(_reason(row, now_ms))
    lasted_ms = now_ms - row.since_ms if row.since_ms is not None else 0
    if row.until_ms:
        pause_ms = clamp(lasted_ms / 15, times.open_ms, times.longest_open_ms)
        return Probe(row, now_ms + round(pause_ms))
    if row.failed >= MOST_FAILED and lasted_ms >= times.evidence_ms:
        return Open(row, now_ms + times.open_ms)
    return Flow()


def _reason(row: Row, now_ms: int) -> str:
    opened = now_ms < (row.open_until_ms or 0)
    return "BREAKER_OPEN" if opened or row.held is not None else "RATE_LIMITED"
