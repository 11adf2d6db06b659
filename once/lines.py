"""Reads events from whatever people have: a file, a folder, records of a queue, exports of a log.

The JSON may be in lines, over several lines, in arrays or one value behind the other, packed by
gzip or not. All commands that take events read them here.
"""

import json
import re
import sys
import time
import zlib
from codecs import getincrementaldecoder
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from gzip import BadGzipFile, GzipFile
from io import BufferedReader
from pathlib import Path
from typing import Any, NamedTuple

from once_enrichment.batch import enrich
from once_enrichment.times import maybe_ms

from once.errors import OnceError
from once.project import HOW_TO_GET_EVENTS

STDIN = Path("-")
_LONGEST_CHARS = 4_000_000  # of one value; EventBridge takes 256 KB
_READ_BYTES = 1 << 17
_GZIP = b"\x1f\x8b"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # as PowerShell writes the output of a command
_SHOWN_FIELDS = 6

# What people give by mistake, by the fields that it always has.
_MISTAKEN = {
    ("received", "outcomes", "events"): "a report of once run",
    ("messageId", "outcome"): "a record of the outcome log",
    ("execution_arn", "type"): "a line of the log of executions",
    ("kind", "idempotencyKey"): "an element of the enrichment",
    ("pk", "sk", "status"): "a row of the claim table",
}


class Place(NamedTuple):
    """Says where a record begins. `item` counts the records of one line, from 1."""

    file: int
    line: int
    item: int


class Found(NamedTuple):
    """A queue record as the pipe hands it over; made up where the file holds only its body."""

    place: Place
    record: dict[str, Any]

    @property
    def text(self) -> str:
        body = self.record["body"]
        return body if isinstance(body, str) else json.dumps(body)


class Line(NamedTuple):
    """A text to send. If it has a problem, it holds no event and will be parked."""

    number: int
    text: str
    problem: str | None = None


@dataclass
class Source:
    """A file with events."""

    path: Path
    name: str
    """Its path in the folder that was given."""
    number: int = 0
    records: int = 0
    trouble: str | None = None
    """Why it could not be read, or not to its end."""


def find_sources(paths: Sequence[Path]) -> list[Source]:
    """Returns the files of all paths, those of a folder in the order of their names."""
    found: list[tuple[Path, str]] = []
    for path in paths:
        if path.is_dir():
            within = path if len(paths) == 1 else path.parent
            files = sorted(p for p in path.rglob("*") if p.is_file() and p.name[0] != ".")
            found += [(one, one.relative_to(within).as_posix()) for one in files]
        elif path.exists() or path == STDIN:
            found.append((path, path.name))
        else:
            raise OnceError(f"Cannot read {path}: there is no such file.\n{HOW_TO_GET_EVENTS}")
    if not found:
        raise OnceError(f"There is no file in {', '.join(map(str, paths))}.")
    return [Source(path, name, number) for number, (path, name) in enumerate(found)]


def read_records(source: Source, took: Callable[[int], None] = lambda _: None) -> Iterator[Found]:
    """Yields the records of a file; `took` hears how many bytes of it are done."""
    read = partial(next, _read(source, took), "")
    for line, item, value, stamp in _Splitter(read).values():
        for more, record in enumerate(_unwrap(value, parse(value), maybe_ms(stamp))):
            source.records += 1
            yield Found(Place(source.number, line, item + more), record)


def read_lines(path: Path) -> list[Line]:
    """Returns all that a file holds, to be sent. A file without any event is refused."""
    source = Source(path, path.name) if path.is_dir() else find_sources([path])[0]
    found = list(read_records(source))
    if source.trouble:
        raise OnceError(f"Cannot read {path}: it {source.trouble}.")
    places = [one.place.line for one in found]
    is_line_each = len(set(places)) == len(places)
    lines = [
        Line(one.place.line if is_line_each else number, one.text, _problem_of(one))
        for number, one in enumerate(found, 1)
    ]
    if not lines:
        raise OnceError(f"{path} holds no events: it is empty.")
    if all(line.problem for line in lines):
        kinds = Counter(_kind_of(one.text) for one in found)
        said = "\n".join(f"  {count:,} times {kind}" for kind, count in kinds.most_common(5))
        raise OnceError(
            f"{path} holds no event, but\n{said}\n"
            "Give events as EventBridge, SQS, SNS or a log has them. Why a text is none is said "
            "by: once audit FILE"
        )
    return lines


def read_element(record: dict[str, Any]) -> dict[str, Any]:
    """Returns what the enrichment makes of a record."""
    (element,) = enrich([record], would_write)
    return element


def would_write(key: str, _content: bytes) -> dict[str, str]:
    return {"bucket": "OVERFLOW_BUCKET", "key": key}


def parse(text: str) -> Any:
    """Returns what a JSON text says; None if it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _problem_of(found: Found) -> str | None:
    if _mistaken(parse(found.text)):
        return "NOT_AN_EVENT"
    sent = {"SentTimestamp": str(time.time_ns() // 1_000_000)}  # as the queue will note it
    element = read_element({**found.record, "attributes": sent})
    return None if element["kind"] == "event" else str(element["reason"])


def _mistaken(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    return next((kind for fields, kind in _MISTAKEN.items() if value.keys() >= {*fields}), None)


def _kind_of(text: str) -> str:
    value = parse(text)
    if isinstance(value, dict):
        fields = ", ".join(list(value)[:_SHOWN_FIELDS]) or "none"
        return _mistaken(value) or f"a JSON object without an event in it (its fields: {fields})"
    return "a text that is not JSON" if value is None else "a JSON value that is no object"


def _unwrap(text: str, value: Any, at_ms: int | None) -> Iterator[dict[str, Any]]:
    """Yields the records that SQS, SNS, CloudWatch Logs and the AWS CLI wrap in a value."""
    if isinstance(value, dict) and "detail" not in value and not _mistaken(value):
        for name in ("Records", "Messages", "events", "logEvents"):
            items = value.get(name)
            if isinstance(items, list) and items and all(isinstance(one, dict) for one in items):
                for item in items:
                    yield from _unwrap(json.dumps(item), item, at_ms)
                return
        message = value.get("message", value.get("@message"))
        if isinstance(message, str):  # an event of a log
            noted = value.get("ingestionTime") or value.get("timestamp") or value.get("@timestamp")
            yield from _unwrap(message, parse(message), maybe_ms(noted) or at_ms)
            return
        sns = value.get("Sns", value)
        if isinstance(sns, dict) and isinstance(sns.get("Message"), str):
            yield from _unwrap(sns["Message"], None, maybe_ms(sns.get("Timestamp")) or at_ms)
            return
        # The pipe writes these names in one way, `aws sqs receive-message` in another.
        record = {name[:1].lower() + name[1:]: part for name, part in value.items()}
        if "messageId" in record and "body" in record:
            yield record
            return
    sent = {} if at_ms is None else {"SentTimestamp": str(at_ms)}
    yield {"messageId": "-", "body": text, "attributes": sent}


def _read(source: Source, took: Callable[[int], None]) -> Iterator[str]:
    """Yields what a file says, piece by piece, as far as it can be read."""
    try:
        with _open(source.path) as raw:
            head = raw.peek(_READ_BYTES)[:_READ_BYTES]
            is_packed, is_utf_16 = head.startswith(_GZIP), head.startswith(_UTF_16)
            if b"\0" in head and not is_packed and not is_utf_16:
                source.trouble = "is no text: events are JSON, perhaps packed by gzip"
                return
            decode = getincrementaldecoder("utf-16" if is_utf_16 else "utf-8-sig")("replace").decode
            unpacked = GzipFile(fileobj=raw) if is_packed else raw
            is_file = source.path.is_file()
            while data := unpacked.read1(_READ_BYTES):
                if is_file:
                    took(raw.tell())
                if piece := decode(data):
                    yield piece
            yield decode(b"", final=True)
    except (EOFError, BadGzipFile, zlib.error):
        source.trouble = "could not be read to its end: it is no whole gzip file"
    except OSError as error:
        source.trouble = f"could not be read to its end: {error.strerror}"


def _open(path: Path) -> BufferedReader:
    raw = sys.stdin.buffer if path == STDIN else path.open("rb", buffering=0)
    return BufferedReader(raw)  # type: ignore[arg-type]  # what tests put there, too


_BETWEEN = re.compile(r"[\s,\[\]\x1e]*")
# The export of a log may be one object of a gigabyte, so its records are read one by one.
_WRAPPER = re.compile(r'\{\s*"(?:events|logEvents)"\s*:\s*\[(?=\s*\{)')
_END_OF_WRAPPER = re.compile(r'(?:"[^"]*"\s*:\s*(?:\[[^\]]*\]|"[^"]*"|null)[\s,]*)*\}')
# An exported log group and `aws logs tail`: a time, perhaps the name of a stream, and the event.
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d))[ \t]+(?:[^\s{]+[ \t]+)?(?=\{)")
_COLON = re.compile(r"\s*:")
_LOOK_AHEAD = 1_024  # more than a stamp or the beginning of a wrapper
_PARTIAL_WORD = 8  # `false` and the like, cut off
_decode = json.JSONDecoder().raw_decode


class _Splitter:
    """Finds where a JSON value ends and the next one begins. A text that is no JSON ends where the
    next value seems to begin."""

    def __init__(self, read: Callable[[], str]) -> None:
        self._read = read
        self._buffer = ""
        self._at = 0
        self._line, self._item = 1, 0
        self._is_wrapped = False

    def values(self) -> Iterator[tuple[int, int, str, str | None]]:
        """Yields line, item, text and the time in front of it."""
        while self._find_next():
            stamp = _STAMP.match(self._buffer, self._at)
            if stamp:
                self._pass(stamp.end())
            self._item += 1
            line, item = self._line, self._item
            end = self._find_end()
            text = self._buffer[self._at : end].rstrip()
            self._pass(end)
            yield line, item, text, stamp and stamp[1]

    def _find_next(self) -> bool:
        """Goes to where the next value begins; false at the end."""
        while True:
            between = _BETWEEN.match(self._buffer, self._at)
            self._pass(between.end() if between else self._at)
            if self._left() < _LOOK_AHEAD and self._read_more():
                continue
            if not self._left():
                return False
            if wrapper := _WRAPPER.match(self._buffer, self._at):
                self._pass(wrapper.end())
                self._is_wrapped = True
            elif self._is_wrapped and (ended := self._find_end_of_wrapper()):
                self._pass(ended)
                self._is_wrapped = False
            else:
                return True

    def _find_end_of_wrapper(self) -> int | None:
        """Returns where the fields end that follow the records in their wrapper."""
        if self._buffer[self._at] not in '"}':
            return None
        while not (end := _END_OF_WRAPPER.match(self._buffer, self._at)):
            if self._left() > _LONGEST_CHARS or not self._read_more():
                return None
        return end.end()

    def _find_end(self) -> int:
        """Returns where the value ends that begins here, or the text that is no JSON."""
        while True:
            try:
                _, end = _decode(self._buffer, self._at)
            except RecursionError:
                break
            except json.JSONDecodeError as error:
                is_cut_off = error.pos >= len(self._buffer) - _PARTIAL_WORD
                may_go_on = is_cut_off or error.msg.startswith("Unterminated")
                if may_go_on and self._left() < _LONGEST_CHARS and self._read_more():
                    continue
                break
            if self._buffer[self._at] == '"' and _COLON.match(self._buffer, end):
                break  # a field that lost its object
            return end
        return self._find_end_of_text()

    def _find_end_of_text(self) -> int:
        """Returns the end of the line, or of an object that is laid out over lines."""
        indent = self._at - self._buffer.rfind("\n", 0, self._at) - 1
        laid_out = re.compile(r"\{[ \t]*\r?\n").match(self._buffer, self._at)
        ends = re.compile(rf"\n(?=[ \t]{{0,{indent}}}\{{)" if laid_out else r"\n|(?<=\})\s*(?=\{)")
        while not (end := ends.search(self._buffer, self._at + 1)):
            if self._left() > _LONGEST_CHARS or not self._read_more():
                return len(self._buffer)
        return end.start()

    def _left(self) -> int:
        return len(self._buffer) - self._at

    def _pass(self, end: int) -> None:
        lines = self._buffer.count("\n", self._at, end)
        if lines:
            self._line += lines
            self._item = 0
        self._at = end

    def _read_more(self) -> bool:
        read = self._read()
        if read:
            # The line so far tells how far a value is indented.
            begin = max(self._buffer.rfind("\n", 0, self._at) + 1, self._at - _LOOK_AHEAD)
            self._buffer, self._at = self._buffer[begin:] + read, self._at - begin
        return bool(read)
