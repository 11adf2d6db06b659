"""Times of every spelling as epoch milliseconds, and which of an event's clocks to believe."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from math import isfinite
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_MINUTE_MS = 60_000
_SECONDS = [f":{second:02}" for second in range(60)]
_MILLIS = [f".{milli:03}Z" for milli in range(1000)]
LAST_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z, the last that ISO 8601 can write
EARLIEST_MS = 100_000_000_000  # in 1973; a smaller number counts seconds, up to the year 5138
_DIGITS = 17  # more cannot be in range, and would be slow to read

AHEAD_MS = 300_000  # a clock further ahead of the queue's than this is not believed

WINDOW_MS = 500  # of a clock that tells milliseconds
WHOLE_SECOND_WINDOW_MS = 1_500
SENT_WINDOW_MS = 60_000  # copies reach the queue this far apart when a publisher retries

# As `iso` writes it, on a day that every month of our time has.
is_iso = re.compile(
    r"(?:199|2\d\d)\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])"
    r"T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z",
    re.ASCII,
).fullmatch

Moment = tuple[int, int, bool]
"""When an event happened, how far apart its copies may be on that clock, and whether that clock
is fine enough to say which of two events came first."""


def to_ms(value: Any) -> int:
    """Epoch milliseconds of an int (ms or s), a float (s), digits, or ISO 8601 text."""
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
    """As `to_ms`, and None for whatever is no time."""
    if value is None:
        return None
    try:
        return to_ms(value)
    except ValueError:
        return None


def iso(ms: int) -> str:
    """ISO 8601 in UTC with exactly three decimals."""
    minute, rest = divmod(ms, _MINUTE_MS)
    return _minute(minute) + _SECONDS[rest // 1000] + _MILLIS[rest % 1000]


@lru_cache(maxsize=1024)
def _minute(number: int) -> str:
    return (_EPOCH + timedelta(minutes=number)).strftime("%Y-%m-%dT%H:%M")


def as_iso(value: Any) -> str | None:
    """A time of any spelling as `iso` writes it, or None for whatever is no time."""
    if type(value) is str and is_iso(value):
        return value
    ms = maybe_ms(value)
    return None if ms is None else iso(ms)


def window_of(ms: int) -> int:
    """How far apart copies may be on the clock that told this time."""
    return WINDOW_MS if ms % 1000 else WHOLE_SECOND_WINDOW_MS


def choose(
    business_ms: int | None, published_ms: int | None, envelope_time: Any, sent_ms: int | None
) -> Moment | None:
    """The first clock that tells a believable time, or None where none does."""
    latest = LAST_MS if sent_ms is None else sent_ms + AHEAD_MS
    for ms in (business_ms, published_ms):
        if ms is not None and ms <= latest:
            return ms, window_of(ms), True
    ms = maybe_ms(envelope_time)
    if ms is not None and ms <= latest:
        return ms, WHOLE_SECOND_WINDOW_MS, False
    return None if sent_ms is None else (sent_ms, SENT_WINDOW_MS, False)
