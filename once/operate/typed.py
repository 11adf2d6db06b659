"""Reads what people type: times, durations, and the beginnings of ids as commands print them."""

import re
from collections.abc import Collection
from datetime import UTC, datetime

from once.errors import NotFoundError, OnceError

_SHORT_ID = re.compile(r"[0-9a-f]{8}[0-9a-f-]*")
_NAMED = 5
_UNITS_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def parse_duration(text: str) -> int | None:
    """Reads `30m` as milliseconds; returns None for any other text."""
    found = re.fullmatch(r"([0-9]{1,6})([smhd])", text.strip())
    return int(found[1]) * _UNITS_MS[found[2]] if found else None


def parse_time(text: str, option: str) -> int:
    """Reads a time in UTC as epoch milliseconds."""
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise OnceError(
            f"{option} {text} is no time: write it like 2026-05-04T08:00, which is in UTC, or with "
            "an offset, 2026-05-04T10:00+02:00."
        ) from None
    return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def parse_since(text: str, now_ms: int) -> int:
    """Reads `2h` as that long ago, or a time in UTC."""
    duration_ms = parse_duration(text)
    return now_ms - duration_ms if duration_ms is not None else parse_time(text, "--since")


def is_short_id(text: str) -> bool:
    """Returns true for what may be the beginning of an id."""
    return _SHORT_ID.fullmatch(text) is not None


def complete_id(text: str, known: Collection[str]) -> str | None:
    """Finds the known id that begins with this; None if there is none, or the text is no id."""
    if not is_short_id(text):
        return None
    found = [text] if text in known else sorted(one for one in known if one.startswith(text))
    if len(found) > 1:
        raise NotFoundError(f"{len(found)} ids begin with {text}: {', '.join(found[:_NAMED])}")
    return found[0] if found else None
