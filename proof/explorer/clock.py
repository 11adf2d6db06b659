"""Time, told backwards: it is always NOW_MS, and when time passes, what is written gets older.

So two histories that differ only in when they began are one state. A time of the clock is known by
its size: events happen in the first days of 1970, and no counter is as large as a date of today.
"""

import json
import re
from functools import cache

NOW_MS = 1_750_000_000_000

_DAY_MS = 86_400_000
_LONG_AGO_MS = NOW_MS - 10_000_000
_NEAR_MS = 4_000
_TIME = re.compile(r"\b(1[67]\d{11}|1[67]\d{8})\b")


@cache
def aged(text: str, seconds: int, expiry_too: bool) -> str:
    """The JSON text with every time of the clock in it moved back by so many seconds.

    A time that is past by more than any clock is wrong stays past, so all of those become one. An
    expiry, days ahead, only ages where it matters.
    """

    def older(found: re.Match[str]) -> str:
        unit = 1 if len(found[0]) == 13 else 1000
        at_ms = int(found[0]) * unit
        if at_ms > NOW_MS + _DAY_MS and not expiry_too:
            return found[0]
        at_ms -= seconds * 1000
        return str((at_ms if at_ms > NOW_MS - _NEAR_MS else _LONG_AGO_MS) // unit)

    return _TIME.sub(older, text)


def aged_ms(at_ms: int, seconds: int, expiry_too: bool) -> int:
    return int(aged(str(at_ms), seconds, expiry_too))


@cache
def expires_in(row: str) -> int:
    """How many seconds from now a row may be swept; negative when that is due."""
    return int(json.loads(row)["expires_at"]["N"]) - NOW_MS // 1000
