"""Reads the times and durations that people type."""

import re
from datetime import UTC, datetime

from once.errors import OnceError

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
