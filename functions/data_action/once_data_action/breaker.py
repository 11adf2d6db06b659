"""The circuit breaker: decides from its row and the time if requests may be sent.

No row is CLOSED. While OPEN, no request is sent before the later of `open_until` and `not_before`.
Then it is HALF_OPEN: the event that moves `open_until` sends one request, whose success deletes
the row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .times import Times, clamp


@dataclass(frozen=True)
class Row:
    """The row as read. `failed` counts events whose request failed for the first time."""

    since_ms: int | None = None
    failed: int = 0
    open_until_ms: int | None = None
    not_before_ms: int | None = None
    # An operator's pause: why and by whom.
    held: str | None = None
    held_by: str | None = None

    @classmethod
    def of(cls, item: Mapping[str, Any] | None) -> "Row | None":
        """Reads the item of DynamoDB."""
        if not item:
            return None

        def number(name: str) -> int | None:
            return int(item[name]["N"]) if name in item else None

        def text(name: str) -> str | None:
            return str(item[name]["S"]) if name in item else None

        return cls(
            since_ms=number("since"),
            failed=len(item["failed"]["SS"]) if "failed" in item else 0,
            open_until_ms=number("open_until"),
            not_before_ms=number("not_before"),
            held=text("held"),
            held_by=text("held_by"),
        )

    @property
    def until_ms(self) -> int:
        """Nothing is sent before; 0 while the row only counts."""
        return max(self.open_until_ms or 0, self.not_before_ms or 0)

    @property
    def opened(self) -> bool:
        """Returns true if it opened or an operator paused it, and no request succeeded since."""
        return self.open_until_ms is not None or self.held is not None


@dataclass(frozen=True)
class Wait:
    """No requests: PAUSED, BREAKER_OPEN or RATE_LIMITED."""

    reason: str


@dataclass(frozen=True)
class Open:
    """To be written, if the row is still as it was seen; then no requests until then."""

    seen: Row
    until_ms: int


@dataclass(frozen=True)
class Probe:
    """To be written, if the row is still as it was seen; then one request."""

    seen: Row
    until_ms: int


def judge(row: Row | None, now_ms: int, times: Times) -> Wait | Open | Probe | None:
    """Decides by the row and the time. None: requests may be sent."""
    if row is None:
        return None
    if now_ms < row.until_ms:
        return Wait(_reason(row, now_ms))
    lasted_ms = now_ms - row.since_ms if row.since_ms is not None else 0
    if row.until_ms:
        pause_ms = clamp(lasted_ms / 15, times.open_ms, times.longest_open_ms)
        return Probe(row, now_ms + round(pause_ms))
    if any(row.failed >= each.failed and lasted_ms >= each.lasted_ms for each in times.evidence):
        return Open(row, now_ms + times.open_ms)
    return None


def _reason(row: Row, now_ms: int) -> str:
    if row.held is not None and now_ms < (row.not_before_ms or 0):
        return "PAUSED"
    return "BREAKER_OPEN" if now_ms < (row.open_until_ms or 0) else "RATE_LIMITED"
