"""Reads captures: splits files of any of the usual forms into texts, one for each event.

Holds no more of a file than one event and what was read ahead.
"""

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from typing import NamedTuple, TextIO

from once.errors import OnceError

LONGEST_CHARS = 4_000_000  # of one event; EventBridge takes 256 KB
_READ_CHARS = 1 << 18
_LINE_CHARS = 1 << 16  # a line of more is read value by value
_GZIP = b"\x1f\x8b"

_BETWEEN = re.compile(r"[\s,\[\]\x1e\ufeff]*")
# What CloudWatch, the AWS CLI and SQS wrap many records in. Its end is skipped in _Splitter.
_WRAPPER = re.compile(
    r'\{\s*"(?:events|logEvents|Records|Messages|results)"\s*:\s*\[(?=\s*[\{\[\]])'
)
# An exported log group, and `aws logs tail`: a time, perhaps a stream's name, and the event.
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d))[ \t]+(?:[^\s{]+[ \t]+)?(?=\{)")
_SEVERAL = re.compile(r"\}[\s,]*\{")
_SCAN = json.JSONDecoder().raw_decode
_PARTIAL_WORD = 8  # `false` and the like, cut off


class Place(NamedTuple):
    """Where a record stands. `item` counts those of one line, from 1."""

    file: int
    line: int
    item: int


class Text(NamedTuple):
    place: Place
    text: str
    stamp: str | None
    """When a log group took it, as its export writes it."""


@dataclass
class Source:
    """A file of the capture and what became of it."""

    path: Path
    size: int
    records: int = 0
    broken: int = 0
    trouble: str | None = None
    """Why it could not be read to its end."""


@dataclass
class Capture:
    """The files of a capture, in the order of their names, which is that of time."""

    sources: list[Source] = field(default_factory=list)

    @classmethod
    def of(cls, paths: Sequence[Path]) -> "Capture":
        found: list[Source] = []
        for path in paths:
            if not path.exists():
                raise OnceError(
                    f"There is no {path}.\nGive files or folders of captured events, "
                    "e.g. once/examples/story.jsonl. docs/audit.md says how to capture."
                )
            files = [path]
            if path.is_dir():
                files = sorted(one for one in path.rglob("*") if one.is_file())
                files = [one for one in files if not one.name.startswith(".")]
            found += [Source(one, one.stat().st_size) for one in files]
        if not found:
            raise OnceError(f"There is no file in {', '.join(map(str, paths))}.")
        return cls(found)

    @property
    def found_nothing(self) -> bool:
        return not any(source.records for source in self.sources)

    @property
    def size(self) -> int:
        return sum(source.size for source in self.sources)

    def texts(self, read: Callable[[int], None]) -> Iterator[Text]:
        """Every text of the capture; `read` hears how many bytes of the files are done."""
        done = 0
        for number, source in enumerate(self.sources):
            try:
                for text, at in _texts(source, number):
                    read(done + at)
                    yield text
            except (OSError, EOFError, zlib.error) as error:
                reason = getattr(error, "strerror", None) or "it is no whole gzip file"
                source.trouble = f"could not be read to its end: {reason}"
            done += source.size
            read(done)


def _texts(source: Source, number: int) -> Iterator[tuple[Text, int]]:
    with source.path.open("rb") as file:
        head = file.read(4096)
        file.seek(0)
        packed = head.startswith(_GZIP)
        if b"\0" in head and not packed:
            source.trouble = "is no text: a capture is JSON, perhaps packed by gzip"
            return
        content = gzip.GzipFile(fileobj=file) if packed else file
        # Lines end in \n alone: JSON strings may hold U+2028 and its like.
        with TextIOWrapper(content, "utf-8", errors="replace", newline="\n") as lines:
            for text in _Splitter(lines, number).texts():
                source.records += 1
                yield text, file.tell()


def _is_whole(line: str) -> bool:
    """Whether this is one object, without reading it: so it is with most lines."""
    return (
        line.startswith("{")
        and line.endswith("}")
        and line.count("{") == line.count("}")
        and not _SEVERAL.search(line)
    )


class _Splitter:
    """Finds where one JSON value ends and the next begins: a value a line, values over several
    lines or several in one, in an array or in a wrapper. What is no JSON goes on as the line it is.
    """

    def __init__(self, stream: TextIO, file: int) -> None:
        self._stream = stream
        self._file = file
        self._buffer = ""
        self._at = 0
        self._line = 1
        self._item = 0
        self._ended = False
        self._wrappers = 0

    def texts(self) -> Iterator[Text]:
        while self._find():
            stamp = None
            stamped = _STAMP.match(self._buffer, self._at)
            if stamped:
                stamp = stamped[1]
                self._pass(stamped.end())
            self._item += 1
            place = Place(self._file, self._line, self._item)
            text = self._take()
            yield Text(place, text, stamp)

    def _find(self) -> bool:
        """Goes to where the next text begins; false at the end."""
        while True:
            between = _BETWEEN.match(self._buffer, self._at)
            self._pass(between.end() if between else self._at)
            if self._at >= len(self._buffer) - 64 and self._more():
                continue
            if self._at >= len(self._buffer):
                return False
            wrapper = _WRAPPER.match(self._buffer, self._at)
            if wrapper:
                self._pass(wrapper.end())
                self._wrappers += 1
            elif self._wrappers and self._buffer[self._at] in '"}':
                self._leave_wrapper()
            else:
                return True

    def _leave_wrapper(self) -> None:
        """Passes what follows the records in their wrapper, and its brace."""
        self._wrappers -= 1
        while True:
            rest = self._buffer[self._at :]
            try:
                _, end = _SCAN("{" + rest)
            except ValueError:
                if self._more():
                    continue
                self._pass(len(self._buffer))
                return
            self._pass(self._at + end - 1)
            return

    def _take(self) -> str:
        """The text that begins here."""
        while True:
            end_of_line = self._buffer.find("\n", self._at, self._at + _LINE_CHARS)
            if end_of_line >= 0:
                line = self._buffer[self._at : end_of_line].rstrip(" \t\r,")
                if _is_whole(line) or not line.startswith(("{", '"')):
                    return self._cut(len(line))
            elif not self._ended and len(self._buffer) - self._at < _LINE_CHARS:
                self._more()
                continue
            try:
                _, end = _SCAN(self._buffer, self._at)
            except RecursionError:
                return self._cut_line()
            except ValueError as error:
                if self._is_cut_off(error) and self._more():
                    continue
                return self._cut_line()
            return self._cut(end - self._at)

    def _is_cut_off(self, error: ValueError) -> bool:
        """Whether the value may go on in what was not read yet."""
        if len(self._buffer) - self._at > LONGEST_CHARS or not isinstance(
            error, json.JSONDecodeError
        ):
            return False
        return (
            error.msg.startswith("Unterminated string")
            or error.pos >= len(self._buffer) - _PARTIAL_WORD
        )

    def _cut_line(self) -> str:
        """What is no JSON, up to the end of its line, or as much as is held of a long one."""
        end = self._buffer.find("\n", self._at)
        return self._cut((end if end >= 0 else len(self._buffer)) - self._at).rstrip()

    def _cut(self, length: int) -> str:
        text = self._buffer[self._at : self._at + length]
        self._pass(self._at + length)
        return text

    def _pass(self, end: int) -> None:
        lines = self._buffer.count("\n", self._at, end)
        if lines:
            self._line += lines
            self._item = 0
        self._at = end

    def _more(self) -> bool:
        if self._ended:
            return False
        read = self._stream.read(_READ_CHARS)
        self._ended = not read
        self._buffer = self._buffer[self._at :] + read
        self._at = 0
        return bool(read)
