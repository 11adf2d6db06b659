"""Times of every spelling as epoch milliseconds, and which of an event's clocks to believe."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_DAY_MS = 86_400_000
_LAST_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z, the last that ISO 8601 can write
_SECONDS_BELOW = 100_000_000_000  # as milliseconds 1973, as seconds the year 5138

AHEAD_MS = 300_000  # a clock further ahead of the queue's than this is not believed

WINDOW_MS = 500  # of a clock that tells milliseconds
WHOLE_SECOND_WINDOW_MS = 1_500
SENT_WINDOW_MS = 60_000  # copies reach the queue this far apart when a publisher retries


def to_ms(value: Any) -> int:
    """Epoch milliseconds of an int (ms or s), a float (s), digits, or ISO 8601 text."""
    kind = type(value)
    if kind is str:
        if value.isdecimal() and len(value) < 17:
            ms = int(value)
        else:
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            return _in_range((moment - _EPOCH) // _MILLISECOND)
    elif kind is int:
        ms = value
    elif kind is float:
        # A fraction of a second is lost in a float of milliseconds or kept in one of seconds.
        return _in_range(round(value * 1000) if abs(value) < _SECONDS_BELOW else round(value))
    else:
        raise ValueError(f"a time is a number or ISO 8601 text, not {kind.__name__}")
    if -_SECONDS_BELOW < ms < _SECONDS_BELOW:
        ms *= 1000
    return _in_range(ms)


def _in_range(ms: int) -> int:
    if 0 < ms <= _LAST_MS:
        return ms
    raise ValueError("the time lies outside 1970 to 9999")


def maybe_ms(value: Any) -> int | None:
    """As `to_ms`, and None for whatever is no time."""
    if value is None:
        return None
    try:
        return to_ms(value)
    except (ValueError, OverflowError):
        return None


@lru_cache(maxsize=64)
def _day(number: int) -> str:
    return (_EPOCH + timedelta(days=number)).strftime("%Y-%m-%d")


def iso(ms: int) -> str:
    """ISO 8601 in UTC with exactly three decimals."""
    day, rest = divmod(ms, _DAY_MS)
    seconds, milli = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    return f"{_day(day)}T{minutes // 60:02}:{minutes % 60:02}:{second:02}.{milli:03}Z"


class Moment(NamedTuple):
    """When an event happened, as far as can be told."""

    ms: int
    window_ms: int  # how far apart copies may lie on this clock
    orderable: bool  # False where the clock is too coarse to say which of two came first


def choose(
    business_ms: int | None, published_ms: int | None, envelope_time: Any, sent_ms: int | None
) -> Moment | None:
    """The first clock that tells a believable time, or None where none does."""
    latest = _LAST_MS if sent_ms is None else sent_ms + AHEAD_MS
    for ms in (business_ms, published_ms):
        if ms is not None and ms <= latest:
            return Moment(ms, WINDOW_MS if ms % 1000 else WHOLE_SECOND_WINDOW_MS, True)
    ms = maybe_ms(envelope_time)
    if ms is not None and ms <= latest:
        return Moment(ms, WHOLE_SECOND_WINDOW_MS, False)
    if sent_ms is not None:
        return Moment(sent_ms, SENT_WINDOW_MS, False)
    return None
