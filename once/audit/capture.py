"""Reads captures: splits files of any of the usual forms into texts, one for each event.

Holds no more of a file than one event and what was read ahead.
"""

import json
import re
import zlib
from codecs import getincrementaldecoder
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import heappop, heappush, heapreplace
from pathlib import Path
from typing import NamedTuple

from once.audit.clock import milliseconds
from once.errors import OnceError

LONGEST_CHARS = 4_000_000  # of one event; EventBridge takes 256 KB
_READ_BYTES = 1 << 15
_LINE_CHARS = 1 << 16  # a line of more is read value by value
_MODEL_CHARS = 300  # in which the first two names stand
_MOST_OPEN = 200  # files at once; macOS lets a process have 256
_GZIP = b"\x1f\x8b"
_GZIP_BITS = 31  # what zlib calls a gzip header and the largest window

_BETWEEN = re.compile(r"[\s,\[\]\x1e\ufeff]*")
# What CloudWatch, the AWS CLI and SQS wrap many records in. Its end is skipped in _Splitter.
_WRAPPER = re.compile(r'\{\s*"(?:events|logEvents|Records|Messages)"\s*:\s*\[')
# An exported log group, and `aws logs tail`: a time, perhaps a stream's name, and the event.
_STAMP = re.compile(r"(\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d))[ \t]+(?:[^\s{]+[ \t]+)?(?=\{)")
# In a record around the event: within the event itself the quotes would be escaped.
_ARRIVAL = re.compile(r'"(?:ingestionTime|SentTimestamp)"\s*:\s*"?(\d{12,14})\b')
_SEVERAL = re.compile(r"\}[\s,]*\{")
_COLON = re.compile(r"\s*:")
_LAID_OUT = re.compile(r'\{[ \t]*\r?\n([ \t]*)"')
_FIRST_NAME = re.compile(r'\{\s*("[^"\\]{0,64}")')
_VALUE = r'\s*:\s*(?:"[^"\\]*"|[\w.+-]+)\s*,\s*'
_TWO_NAMES = re.compile(_FIRST_NAME.pattern + _VALUE + r'("[^"\\]{0,64}")')
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
    arrived_ms: int | None
    """When a log group took it, as its export writes it."""


@dataclass
class Source:
    """A file of the capture and what became of it."""

    path: Path
    name: str
    """Its path in the folder that was given."""
    size: int
    records: int = 0
    trouble: str | None = None
    """Why it could not be read to its end."""


@dataclass
class Capture:
    """The files of a capture, in the order of their names."""

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
            if not path.is_dir():
                found.append(Source(path, path.name, path.stat().st_size))
                continue
            within = path if len(paths) == 1 else path.parent
            files = sorted(one for one in path.rglob("*") if one.is_file())
            found += [
                Source(one, one.relative_to(within).as_posix(), one.stat().st_size)
                for one in files
                if not one.name.startswith(".")
            ]
        if not found:
            raise OnceError(f"There is no file in {', '.join(map(str, paths))}.")
        return cls(found)

    @property
    def size(self) -> int | None:
        """In bytes; None where a pipe does not tell."""
        if all(source.path.is_file() for source in self.sources):
            return sum(source.size for source in self.sources)
        return None

    def texts(self, progress: Callable[[int], None]) -> Iterator[Text]:
        """Every text of the capture: files whose records note their arrival by that, others in the
        order of their names. `progress` hears how many bytes of the files are done.
        """
        done = 0

        def took(count: int) -> None:
            nonlocal done
            done += count
            progress(done)

        waiting = deque(sorted(self._starts()))
        opened: list[tuple[int, int, Text, Iterator[Text]]] = []
        while waiting or opened:
            while waiting and _is_next(waiting[0], opened):
                start, number = waiting.popleft()
                texts = _texts(self.sources[number], number, took)
                for text in texts:
                    heappush(opened, (_arrived_ms(text) or start, number, text, texts))
                    break
            if not opened:
                continue
            at, number, text, texts = opened[0]
            yield text
            following = next(texts, None)
            if following is None:
                heappop(opened)
            else:
                heapreplace(opened, (_arrived_ms(following) or at, number, following, texts))

    def _starts(self) -> Iterator[tuple[int, int]]:
        """When each file begins; one that does not say so follows the one before it."""
        start = 0
        for number, source in enumerate(self.sources):
            if len(self.sources) > 1 and source.path.is_file():
                first = next(_texts(replace(source), number, lambda _: None), None)
                start = (_arrived_ms(first) if first else None) or start
            yield start, number


def _is_next(
    waiting: tuple[int, int], opened: Sequence[tuple[int, int, Text, Iterator[Text]]]
) -> bool:
    return not opened or (len(opened) < _MOST_OPEN and waiting < opened[0][:2])


def _arrived_ms(text: Text) -> int | None:
    if text.arrived_ms is not None:
        return text.arrived_ms
    if '"ingestionTime"' not in text.text and '"SentTimestamp"' not in text.text:
        return None  # as with most, and quicker than a pattern
    noted = _ARRIVAL.search(text.text)
    return int(noted[1]) if noted else None


def _texts(source: Source, number: int, took: Callable[[int], None]) -> Iterator[Text]:
    for text in _Splitter(_pieces(source, took), number).texts():
        source.records += 1
        yield text


def _pieces(source: Source, took: Callable[[int], None]) -> Iterator[str]:
    """What a file says, piece by piece, as far as it can be read."""
    decode = getincrementaldecoder("utf-8")("replace").decode
    try:
        with source.path.open("rb") as file:
            head = file.read(_READ_BYTES)
            packed = head.startswith(_GZIP)
            if b"\0" in head[:4096] and not packed:
                source.trouble = "is no text: a capture is JSON, perhaps packed by gzip"
                return
            chunks = _chunks(head, partial(file.read, _READ_BYTES), took)
            for data in _unpacked(chunks, source) if packed else chunks:
                piece = decode(data)
                if piece:
                    yield piece
            piece = decode(b"", final=True)
            if piece:
                yield piece
    except OSError as error:
        source.trouble = f"could not be read to its end: {error.strerror}"


def _chunks(head: bytes, read: Callable[[], bytes], took: Callable[[int], None]) -> Iterator[bytes]:
    chunk = head
    while chunk:
        took(len(chunk))
        yield chunk
        chunk = read()


def _unpacked(chunks: Iterator[bytes], source: Source) -> Iterator[bytes]:
    """What gzip packed, up to the byte that is wrong."""
    unpack = zlib.decompressobj(_GZIP_BITS)
    for chunk in chunks:
        rest = chunk
        while rest:
            if unpack.eof:
                # Gzip files one after the other are one, and zeros may fill up its last block.
                rest = rest.lstrip(b"\0")
                if not rest:
                    break
                unpack = zlib.decompressobj(_GZIP_BITS)
            before = unpack.copy()
            try:
                yield unpack.decompress(rest)
            except zlib.error:
                yield _as_far_as_possible(before, rest)
                source.trouble = "could not be read to its end: it is no whole gzip file"
                return
            rest = unpack.unused_data
    if not unpack.eof:
        source.trouble = "could not be read to its end: it is no whole gzip file"


def _as_far_as_possible(unpack: "zlib._Decompress", data: bytes) -> bytes:
    """Byte by byte, since zlib forgets what it made of a piece in which it finds a fault."""
    found = bytearray()
    with suppress(zlib.error):
        for at in range(len(data)):
            found += unpack.decompress(data[at : at + 1])
    return bytes(found)


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
    lines or several in one, in an array or in a wrapper. What is no JSON goes on as it is, up to
    where the next value seems to begin.
    """

    def __init__(self, pieces: Iterator[str], file: int) -> None:
        self._pieces = pieces
        self._file = file
        self._buffer = ""
        self._at = 0
        self._line = 1
        self._item = 0
        self._indent = 0
        self._whole = ""
        self._is_wrapped = False

    def texts(self) -> Iterator[Text]:
        while self._find():
            arrived_ms = None
            stamped = _STAMP.match(self._buffer, self._at)
            if stamped:
                arrived_ms = milliseconds(stamped[1])
                self._pass(stamped.end())
            self._item += 1
            place = Place(self._file, self._line, self._item)
            text = self._take()
            yield Text(place, text, arrived_ms)

    def _find(self) -> bool:
        """Goes to where the next text begins; false at the end."""
        passed = ""
        while True:
            between = _BETWEEN.match(self._buffer, self._at)
            passed += between[0] if between else ""
            self._pass(between.end() if between else self._at)
            if self._at >= len(self._buffer) - 64 and self._more():
                continue
            if self._at >= len(self._buffer):
                return False
            wrapper = _WRAPPER.match(self._buffer, self._at)
            if wrapper:
                self._pass(wrapper.end())
                self._is_wrapped = True
            elif not (self._is_wrapped and "]" in passed and self._leaves_wrapper()):
                self._indent = len(passed) - passed.rfind("\n") - 1
                return True
            passed = ""

    def _leaves_wrapper(self) -> bool:
        """Passes what follows the records in their wrapper, if it is that."""
        while self._buffer[self._at] in '"}':
            try:
                _, end = _SCAN("{" + self._buffer[self._at :])
            except RecursionError:
                break
            except ValueError as error:
                if self._is_cut_off(error) and self._more():
                    continue
                break
            self._pass(self._at + end - 1)
            self._is_wrapped = False
            return True
        return False

    def _take(self) -> str:
        """The text that begins here."""
        while True:
            end_of_line = self._buffer.find("\n", self._at, self._at + _LINE_CHARS)
            if end_of_line >= 0:
                line = self._buffer[self._at : end_of_line].rstrip(" \t\r,")
                if _is_whole(line):
                    return self._cut_whole(len(line))
            elif len(self._buffer) - self._at < _LINE_CHARS and self._more():
                continue
            if self._buffer[self._at] not in '{"':
                return self._cut_broken()
            try:
                _, end = _SCAN(self._buffer, self._at)
            except RecursionError:
                return self._cut_broken()
            except ValueError as error:
                if self._is_cut_off(error) and self._more():
                    continue
                return self._cut_broken()
            if self._buffer[self._at] == '"' and _COLON.match(self._buffer, end):
                return self._cut_broken()  # a field that lost its object
            return self._cut_whole(end - self._at)

    def _is_cut_off(self, error: ValueError) -> bool:
        """Whether the value may go on in what was not read yet."""
        if len(self._buffer) - self._at > LONGEST_CHARS or not isinstance(
            error, json.JSONDecodeError
        ):
            return False
        return (
            error.msg.startswith("Unterminated string")
            or error.pos >= len(error.doc) - _PARTIAL_WORD
        )

    def _cut_broken(self) -> str:
        """What is no JSON, up to where the next value seems to begin."""
        beginning = re.compile(self._next_beginning())
        while True:
            found = beginning.search(self._buffer, self._at + 1)
            if found:
                return self._cut(found.start() - self._at).rstrip()
            if len(self._buffer) - self._at > LONGEST_CHARS or not self._more():
                return self._cut(len(self._buffer) - self._at).rstrip()

    def _next_beginning(self) -> str:
        """How the value after this broken one can be told from what is inside of it: it begins as
        this one did, or the last whole one.
        """
        if self._buffer[self._at] != "{":
            return r'\n|\{\s*"'
        models = self._buffer[self._at : self._at + _MODEL_CHARS], self._whole
        for laid_out in filter(None, map(_LAID_OUT.match, models)):
            # It is no further to the right, nor are its fields, even where it begins in a line
            # that was cut off.
            return (
                rf"\n[ \t]{{0,{self._indent}}}[\[{{]"
                rf'|\{{[ \t]*\r?\n[ \t]{{0,{len(laid_out[1])}}}"'
            )
        ways = [r"\n", r"(?<=\})\{", _WRAPPER.pattern]
        for model in models:
            if two := _TWO_NAMES.match(model):
                ways.append(rf"\{{\s*{re.escape(two[1])}{_VALUE}{re.escape(two[2])}")
            elif one := _FIRST_NAME.match(model):
                ways.append(rf"\{{\s*{re.escape(one[1])}")
        return "|".join(ways)

    def _cut_whole(self, length: int) -> str:
        text = self._cut(length)
        self._whole = text[:_MODEL_CHARS]
        return text

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
        read = next(self._pieces, "")
        if read:
            self._buffer = self._buffer[self._at :] + read
            self._at = 0
        return bool(read)
