"""The lines of an EVENTS file, and what of each a bus can carry."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from os.path import commonprefix
from pathlib import Path
from typing import Any

from once.errors import OnceError
from once.project import EXAMPLE


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
        raise unreadable(path, error) from error
    # Not splitlines(): JSON strings may hold U+2028 and its like, which are no line ends here.
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    found = [Line(number, one) for number, one in enumerate(texts(lines), 1) if one.strip()]
    if not found:
        raise OnceError(f"{path} holds no events: it is empty. Give one per line.")
    return found


def unreadable(path: Path, error: OSError) -> OnceError:
    return OnceError(
        f"Cannot read {path}: {error.strerror}.\n"
        f"Give a file with one event per line, e.g. {EXAMPLE}."
    )


def texts(lines: Iterable[str]) -> Iterator[str]:
    """Each line as it comes; of JSON laid out over lines each document, of an array each element.

    Whether it is laid out is told by the first line with something in it: events by the line begin
    with one that is whole.
    """
    lines = iter(lines)
    first: list[str] = []
    for line in lines:
        first.append(line)
        if line.strip():
            break
    if first and _is_object(first[-1]):
        yield from chain(first, lines)
        return
    everything = [*first, *lines]
    documents = _documents("\n".join(everything))
    yield from everything if documents is None else documents


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


_decode = json.JSONDecoder().raw_decode
_SPACE = re.compile(r"[ \t\n\r]*")


def _documents(text: str) -> list[str] | None:
    """The documents one behind the other, as they are written; None where there are none."""
    found = []
    value: Any = None
    at = _behind_space(text, 0)
    try:
        while at < len(text):
            value, end = _decode(text, at)
            if not isinstance(value, dict | list):
                return None
            found.append(text[at:end])
            at = _behind_space(text, end)
    except (ValueError, RecursionError):
        return None
    return _elements(found[0]) if len(found) == 1 and isinstance(value, list) else found


def _elements(array: str) -> list[str]:
    """Cut out and not written again: numbers and repeated names stay what they are."""
    found = []
    at = _behind_space(array, 1)
    while array[at] != "]":
        _, end = _decode(array, at)
        found.append(array[at:end])
        at = _behind_space(array, end)
        if array[at] == ",":
            at = _behind_space(array, at + 1)
    return found


def _behind_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def bus_entry(text: str) -> dict[str, Any] | None:
    """The line as an entry of PutEvents; None where a bus cannot carry it."""
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
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
