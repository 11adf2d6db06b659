"""Reads times of every spelling, and decides which of an event's clocks counts."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
LAST_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z, the last that ISO 8601 can write
EARLIEST_MS = 100_000_000_000  # in 1973; a smaller number counts seconds, up to the year 5138
_DIGITS = 17  # more cannot be in range, and would be slow to read

AHEAD_MS = 300_000  # a time further ahead of the queue's clock than this is ignored

WINDOW_MS = 500  # of a clock that tells milliseconds
WHOLE_SECOND_WINDOW_MS = 1_500
SENT_WINDOW_MS = 60_000  # copies reach the queue this far apart when a publisher retries


@dataclass(frozen=True)
class Moment:
    """The time of an event, by the clock that counts."""

    ms: int
    window_ms: int
    """The longest distance of copies on that clock."""
    is_orderable: bool
    """The clock is fine enough to say which of two events came first."""


def maybe_ms(value: Any) -> int | None:
    """Returns epoch milliseconds of an int (ms or s), a float (s), digits, or ISO 8601 text.

    None: the value is no time, or one outside 1970 to 9999.
    """
    is_digits = type(value) is str and value.isdecimal() and len(value) < _DIGITS
    try:
        if is_digits or type(value) in (int, float):
            number = int(value) if is_digits else value
            # Only seconds have a fraction that counts.
            ms = round(number * 1000 if abs(number) < EARLIEST_MS else number)
        elif type(value) is str and not value.isdecimal():  # of digits it would read a date
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            ms = (moment - _EPOCH) // _MILLISECOND
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return ms if 0 < ms <= LAST_MS else None


def iso(ms: int) -> str:
    """Writes ISO 8601 in UTC with exactly three decimals."""
    moment = _EPOCH + ms * _MILLISECOND
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def choose(
    business_ms: int | None, published: Any, envelope_time: Any, sent_ms: int | None
) -> Moment | None:
    """Returns the first time that is not ahead of the queue's clock, or None if there is none."""
    latest = LAST_MS if sent_ms is None else sent_ms + AHEAD_MS
    for ms in (business_ms, maybe_ms(published)):
        if ms is not None and ms <= latest:
            return Moment(ms, WINDOW_MS if ms % 1000 else WHOLE_SECOND_WINDOW_MS, True)
    ms = maybe_ms(envelope_time)
    if ms is not None and ms <= latest:
        return Moment(ms, WHOLE_SECOND_WINDOW_MS, False)
    return None if sent_ms is None else Moment(sent_ms, SENT_WINDOW_MS, False)
