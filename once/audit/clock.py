"""When the events of a capture came, noted or not."""

from datetime import UTC, datetime
from typing import Any

_LEAP_MS = 7 * 86_400_000
_LAST_MS = 253_402_300_799_999  # the last millisecond that ISO 8601 can write


def milliseconds(value: Any) -> int | None:
    """Epoch milliseconds of what AWS or the enrichment wrote; None for whatever is no time."""
    try:
        if type(value) is str and not value.isdecimal():
            moment = datetime.fromisoformat(value)
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            return _in_range(round(moment.timestamp() * 1000))
        return _in_range(int(value))
    except (TypeError, ValueError, OverflowError):
        return None


def _in_range(ms: int) -> int | None:
    return ms if 0 < ms <= _LAST_MS else None


class Clock:
    """Runs with the publication times, never back. One event alone cannot move it by weeks."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._claimed = 0

    def at(self, arrived_ms: int | None, published_ms: int | None) -> int:
        """The time at which a record was received, as far as anybody can tell."""
        if arrived_ms is not None:
            self.now_ms = max(self.now_ms, arrived_ms)
            return arrived_ms
        if published_ms is None or published_ms <= self.now_ms:
            return self.now_ms or published_ms or 0
        if self.now_ms and published_ms - self.now_ms > _LEAP_MS:
            confirmed = self._claimed and abs(published_ms - self._claimed) < _LEAP_MS
            self._claimed = published_ms
            if not confirmed:
                return self.now_ms
        self.now_ms = published_ms
        return published_ms
