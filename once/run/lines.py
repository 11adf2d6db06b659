"""The lines of an EVENTS file, and what of each a bus can carry."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from os.path import commonprefix
from pathlib import Path
from typing import Any

from once.errors import OnceError


@dataclass(frozen=True)
class Line:
    """One line: sent as it is, whether it is JSON or not."""

    number: int
    text: str

    def is_json(self) -> bool:
        try:
            json.loads(self.text)
        except (ValueError, RecursionError):
            return False
        return True


def read_lines(path: Path) -> list[Line]:
    """The lines with something in them; numbers count the empty ones too."""
    try:
        text = path.read_text("utf-8-sig", errors="replace")
    except OSError as error:
        raise OnceError(
            f"Cannot read {path}: {error.strerror}.\n"
            "Give a file with one event per line, e.g. once/examples/story.jsonl."
        ) from error
    # Not splitlines(): JSON strings may hold U+2028 and its like, which are no line ends here.
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    found = [Line(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not found:
        raise OnceError(f"{path} holds no events: every line is empty.")
    return found


def bus_entry(text: str) -> dict[str, Any] | None:
    """The line as an entry of PutEvents; None where a bus cannot carry it."""
    try:
        event = json.loads(text)
    except ValueError:
        return None
    if not isinstance(event, dict):
        return None
    source, detail_type, detail = (event.get(k) for k in ("source", "detail-type", "detail"))
    # AWS keeps sources that begin with "aws." to itself, its partners' among them.
    if not isinstance(source, str) or not source or source.startswith("aws."):
        return None
    if not isinstance(detail_type, str) or not detail_type or not isinstance(detail, dict):
        return None
    entry = {"Source": source, "DetailType": detail_type, "Detail": json.dumps(detail)}
    time = _time(event.get("time"))
    return entry if time is None else {**entry, "Time": time}


def _time(value: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None


def source_prefix(sources: Sequence[str]) -> str:
    """What a rule has to look for to take as many of these sources as one prefix can."""
    # A prefix has at least one character: sources that begin differently cannot all pass.
    firsts = [source[0] for source in sources]
    alike = [s for s in sources if s[0] == max(firsts, key=firsts.count)]
    return commonprefix(alike)  # noqa: RUF071 - by character is how a rule compares, too
