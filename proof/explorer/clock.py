"""Time, told backwards: it is always NOW_MS, and when time passes, what is written gets older.

So two histories that differ only in when they began are one state. A time of the clock is known by
its size: events happen in the first days of 1970, and no counter is as large as a date of today.
"""

import json
import re
from functools import cache

NOW_MS = 1_750_000_000_000

_DAY_MS = 86_400_000
LONG_AGO_MS = NOW_MS - 10_000_000
_NEAR_MS = 4_000
_TIME = re.compile(r"\b(1[67]\d{11}|1[67]\d{8})\b")
# A failure before a row, or a row before a failure: of these the order matters, however old.
_RANKED = re.compile(
    r'("(?:since|failedAtMs|startedMs)": |"(?:since|failed_at)": \{"N": ")(\d{13})'
)
_FAILED = re.compile(r'("(?:since|failedAtMs)": |"(?:since|failed_at)": \{"N": ")\d{13}')
_SLOT = re.compile(r'(?<="slot": )\d+')
_A_PASSED_SLOT = "1"
# What stands before it, and a number that is no time of the clock, so that it does not age.
_ONCE = r"\g<1>1000"
# A batch began after all failures that it finds, and before anything is old.
_STARTED = re.compile(r'("startedMs": )\d{13}')
_AFTER_ALL = r"\g<1>1850000000000"


@cache
def aged(text: str, seconds: int, expiry_too: bool) -> str:
    """The JSON text with every time of the clock in it moved back by so many seconds.

    A time that is past by more than any clock is wrong stays past, so all of those become one. An
    expiry, days ahead, only ages where it matters.
    """
    ranked = {found.span(2) for found in _RANKED.finditer(text)}

    def older(found: re.Match[str]) -> str:
        unit = 1 if len(found[0]) == 13 else 1000
        at_ms = int(found[0]) * unit
        if at_ms > NOW_MS + _DAY_MS and not expiry_too:
            return found[0]
        at_ms -= seconds * 1000
        if found.span() not in ranked and at_ms <= NOW_MS - _NEAR_MS:
            at_ms = LONG_AGO_MS
        return str(at_ms // unit)

    return _SLOT.sub(_A_PASSED_SLOT, _TIME.sub(older, text))


def aged_ms(at_ms: int, seconds: int, expiry_too: bool) -> int:
    return int(aged(str(at_ms), seconds, expiry_too))


@cache
def ranked_times(text: str) -> frozenset[int]:
    """The times in a text whose order matters."""
    return frozenset(int(time) for _, time in _RANKED.findall(text))


def ranks(times: frozenset[int]) -> tuple[tuple[int, int], ...]:
    """Renames times so that only their order is left, and if they are recent."""
    new: dict[int, int] = {}
    for recent, latest_ms in ((True, NOW_MS - 1), (False, LONG_AGO_MS)):
        some = sorted((t for t in times if (t > NOW_MS - _NEAR_MS) == recent), reverse=True)
        new |= {time: latest_ms - place for place, time in enumerate(some)}
    return tuple(sorted((old, now) for old, now in new.items() if old != now))


@cache
def reranked(text: str, new: tuple[tuple[int, int], ...]) -> str:
    names = {str(old): str(now) for old, now in new}

    def renamed(found: re.Match[str]) -> str:
        return found[1] + names.get(found[2], found[2])

    return _RANKED.sub(renamed, text)


@cache
def unranked(text: str) -> str:
    """Removes times, for worlds in which none are compared."""
    return _STARTED.sub(_AFTER_ALL, _FAILED.sub(_ONCE, text))


@cache
def expires_in(row: str) -> int:
    """Returns the seconds until a row may be swept; negative when that is due."""
    return int(json.loads(row)["expires_at"]["N"]) - NOW_MS // 1000
