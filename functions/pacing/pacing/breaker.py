"""The circuit breaker: from its row and the time, whether calls flow.

No row is CLOSED. OPEN, nobody calls before the later of `open_until` and `not_before`. After that
it is HALF_OPEN: the batch that moves `open_until` on makes one call, whose answer deletes the row.
"""

from dataclasses import dataclass

from .breaker_row import MOST_FAILED
from .times import Times, clamp


@dataclass(frozen=True)
class Row:
    """As read. `failed` counts events whose call failed and that had never failed before."""

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
        """Whether it opened or a person holds it, and nobody was answered since."""
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
    """What the row says now."""
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
