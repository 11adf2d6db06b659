"""Reads times of every spelling, and decides which of an event's clocks counts."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import isfinite
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


def to_ms(value: Any) -> int:
    """Returns epoch milliseconds of an int (ms or s), a float (s), digits, or ISO 8601 text."""
    kind = type(value)
    if kind is str:
        if not value.isdecimal():
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            return _in_range((moment - _EPOCH) // _MILLISECOND)
        value = int(value) if len(value) < _DIGITS else LAST_MS + 1
    elif kind is float and isfinite(value):
        # Only seconds have a fraction that counts.
        value = round(value * 1000 if abs(value) < EARLIEST_MS else value)
        return _in_range(value)
    elif kind is not int:
        raise ValueError("a time is a finite number or ISO 8601 text")
    return _in_range(value * 1000 if -EARLIEST_MS < value < EARLIEST_MS else value)


def _in_range(ms: int) -> int:
    if 0 < ms <= LAST_MS:
        return ms
    raise ValueError("the time lies outside 1970 to 9999")


def maybe_ms(value: Any) -> int | None:
    """Returns epoch milliseconds, and None for what is no time."""
    try:
        return to_ms(value)
    except ValueError:
        return None


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
