"""Reads events from what people have: files and folders, records of a queue, exports of logs.

A file holds JSON values, one in a line or in whatever order, perhaps packed by gzip; or a table of
CloudWatch Logs Insights in CSV. A line of a log may have text before its JSON. Every command that
takes events reads them here; what an event means is for once_enrichment to say.
"""

import csv
import gzip
import json
import re
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader, TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from once_enrichment.envelope import maybe_ms
from once_enrichment.handler import normalise

from once.errors import OnceError
from once.project import HOW_TO_GET_EVENTS

STDIN = Path("-")
_READ = 1 << 17
_LONGEST = 32_000_000  # of one value: Insights returns 10,000 events in one
_TEST_OF_EXPORT = "aws-logs-write-test"  # CloudWatch puts it beside what it exports to S3
# CloudWatch's exports in CSV have a header; a field may have line ends in it.
_TABLE = re.compile(r'(?=.*\bmessage\b)"?@?\w+"?(?:,"?[@\w. ]+"?)+\s*$')
csv.field_size_limit(_LONGEST)
_BETWEEN = re.compile(r"[\s,\[\]\x1e]*")
# The export of a log may be one object of a gigabyte, so its records are read one by one.
_WRAPPER = re.compile(r'\{\s*"(?:events|logEvents)"\s*:\s*\[(?=\s*\{)')
_END_OF_WRAPPER = re.compile(r'(?:"[^"]*"\s*:\s*(?:\[[^\]]*\]|"[^"]*"|null)[\s,]*)*\}')
# The text before the JSON in a line of a log: time, stream, request, level, words of the program.
_HEAD = re.compile(r'(?=[^{"\n]*[A-Za-z<>:])[^{}"\n]{1,400}(?=\{)')
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:[.,](\d+))?[ ]?(Z|[+-]\d\d:?\d\d)?(?![\d:])"
)
_LINE_OF_LOG = re.compile(r"\[?\w*\]?\s*\d{4}-\d\d-\d\d[T ]|(?:START|END|REPORT|INIT_START)\b")
_EVENT = {"detail", "eventBody", "topicName"}
_PACKED = ("message", "@message", "data", "payload")  # fields in which logs keep a message
_NOTED = ("ingestionTime", "timestamp", "@timestamp", "time")
_HEARTBEAT = "channel.metadata"  # Genesys sends it on a WebSocket, to keep the connection
_LOOK_AHEAD = 1_024  # more than the text in front of a value, or the beginning of a wrapper
_NEXT = re.compile(r"\n|(?<=\})\s*(?=\{)")
_COLON = re.compile(r"\s*:")
_decode = json.JSONDecoder().raw_decode


class Place(NamedTuple):
    """Says where a record begins. `item` counts the records of one line, from 1."""

    file: int
    line: int
    item: int


class Captured(NamedTuple):
    """A queue record as the pipe hands it over; made up if the file holds only its body."""

    place: Place
    record: dict[str, Any]
    arrived_ms: int
    """The time that the capture notes for it; 0 if it notes none."""

    @property
    def text(self) -> str:
        return str(self.record["body"])


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
    named: list[tuple[Path, str]] = []
    for path in paths:
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if file.is_file())
            kept = [f for f in files if f.name[0] != "." and f.name != _TEST_OF_EXPORT]
            within = path if len(paths) == 1 else path.parent
            named += [(file, file.relative_to(within).as_posix()) for file in kept]
        elif path.exists() or path == STDIN:
            named.append((path, path.name))
        else:
            raise OnceError(f"Cannot read {path}: there is no such file.\n{HOW_TO_GET_EVENTS}")
    if not named:
        raise OnceError(f"There is no file in {', '.join(map(str, paths))}.")
    return [Source(path, name, number) for number, (path, name) in enumerate(named)]


def read_all(paths: Sequence[Path]) -> Iterator[Captured]:
    """Yields the records of all files; OnceError names one that cannot be read to its end."""
    for source in find_sources(paths):
        yield from read_records(source)
        if source.trouble:
            raise OnceError(f"Cannot read {source.path}: it {source.trouble}.")


def read_records(source: Source, now_ms: int | None = None) -> Iterator[Captured]:
    """Yields the records of a file."""
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    last, item = 0, 0
    for line, text, noted in _read_values(source):
        for record, arrived_ms in _unwrap(text, parse(text), maybe_ms(noted) or 0):
            last, item = line, item + 1 if line == last else 1
            source.records += 1
            place = Place(source.number, line, item)
            yield Captured(place, _complete(record, place, arrived_ms or now_ms), arrived_ms)


def _complete(record: dict[str, Any], place: Place, ms: int) -> dict[str, Any]:
    """Returns a record as the queue would have it. Its time is that of its line in the capture,
    else the moment of reading: an event without any time has this one."""
    body, name = record["body"], record.get("messageId")
    return {
        "messageId": name if name and isinstance(name, str) else ".".join(map(str, place)),
        "body": body if isinstance(body, str) else json.dumps(body),
        "attributes": {"SentTimestamp": str(ms)},
    }


def read_lines(path: Path) -> list[Line]:
    """Returns all that a file holds, to be sent. A file without any event is refused."""
    lines: list[Line] = []
    records = list(read_all([path]))
    if not records:
        raise OnceError(f"{path} holds no events: it is empty.")
    is_one_file = records[-1].place.file == 0
    is_line_each = is_one_file and len({each.place.line for each in records}) == len(records)
    details = [normalise(captured.record).get("detail") for captured in records]
    for number, (captured, detail) in enumerate(zip(records, details, strict=True), 1):
        problem = detail and detail.partition(":")[0]
        text = captured.text if problem else _keep_time(captured)
        lines.append(Line(captured.place.line if is_line_each else number, text, problem))
    if all(details):
        raise OnceError(
            f"{path} holds no event. Its first text: {details[0]}\n"
            "Give events as EventBridge, SQS, SNS or a log has them. To see why a text is no "
            "event: once explain --event FILE"
        )
    return lines


def _keep_time(captured: Captured) -> str:
    """Returns the text to send. If only the capture tells the event's time, the text takes it
    along, as that of a message which was put back does."""
    if captured.arrived_ms and "broken" in normalise({**captured.record, "attributes": {}}):
        once = {"firstSentAtMs": captured.arrived_ms}
        return json.dumps({"once": once, "event": captured.text})
    return captured.text


def parse(text: str) -> Any:
    """Returns what a JSON text says; None if it is no JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _read_values(source: Source) -> Iterator[tuple[int, str, str | None]]:
    """Yields each value of a file with its line and the time beside it, as far as it is whole."""
    try:
        with _open(source.path) as raw:
            head = raw.peek(2)
            is_packed = head.startswith(b"\x1f\x8b")
            if b"\0" in head and not is_packed:
                source.trouble = "is no text: events are JSON, perhaps packed by gzip"
                return
            unpacked: Any = gzip.GzipFile(fileobj=raw) if is_packed else raw
            text = TextIOWrapper(unpacked, "utf-8-sig", "replace", newline="")
            header = text.readline(_READ)
            if _TABLE.match(header):
                rows = csv.DictReader(chain([header], text))
                line = 2
                for row in rows:
                    yield line, json.dumps(row), None
                    line = rows.line_num + 1
            else:
                yield from _split(header, text.read)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        source.trouble = "could not be read to its end: it is no whole gzip file"
    except OSError as error:
        source.trouble = f"could not be read to its end: {error.strerror}"


def _open(path: Path) -> BufferedReader:
    return sys.stdin.buffer if path == STDIN else path.open("rb")  # type: ignore[return-value]


def _split(text: str, read: Callable[[int], str]) -> Iterator[tuple[int, str, str | None]]:
    """Yields each JSON value as it is written. A text that is no JSON ends with its line."""
    at, line, is_wrapped, is_whole = 0, 1, False, False
    while True:
        gap = _BETWEEN.match(text, at)
        if not (gap and gap[0]):
            closing = _END_OF_WRAPPER.match(text, at) if is_wrapped else None
            gap = _WRAPPER.match(text, at) or closing
            is_wrapped ^= gap is not None
        if gap:
            line, at = line + gap[0].count("\n"), gap.end()
            continue
        head = _HEAD.match(text, at)
        begin = head.end() if head else at
        is_last = is_whole or len(text) - at > _LONGEST
        end = None
        if is_last or len(text) - at > _LOOK_AHEAD:
            end = _find_end(text, begin, is_last)
        if end is None:
            # Twice as much each time, since a long value is decoded again after each reading.
            more = read(max(_READ, len(text) - at))
            text, at, is_whole = text[at:] + more, 0, not more
            continue
        if at == len(text):
            return
        value = text[begin:end].rstrip()
        if head or not _LINE_OF_LOG.match(value):
            yield line, value, _find_time(head[0]) if head else None
        line, at = line + text.count("\n", at, end), end


def _find_end(text: str, at: int, is_last: bool) -> int | None:
    """Returns where the value ends that begins here, or the text that is none; None if that is
    perhaps not read yet."""
    end = None
    if not _LINE_OF_LOG.match(text, at):
        try:
            end = _decode(text, at)[1]
        except RecursionError:
            pass
        except json.JSONDecodeError as error:
            is_cut = error.pos > len(text) - 9 or error.msg.startswith("Unterminated")
            if is_cut and not is_last:
                return None
    if end and not (text[at] == '"' and _COLON.match(text, end)):  # a field that lost its object
        return end
    # The text ends with its line, or where a next value seems to begin.
    following = _NEXT.search(text, at + 1)
    return following.start() if following else len(text) if is_last else None


def _find_time(text: str) -> str | None:
    time = _TIME.search(text)
    return f"{time[1]}.{time[2] or 0:0<3.3}{time[3] or 'Z'}" if time else None


def _unwrap(text: str, value: Any, ms: int) -> Iterator[tuple[dict[str, Any], int]]:
    """Yields the records that SQS, SNS, logs and the AWS CLI wrap in a value, with their times."""
    if isinstance(value, dict) and not value.keys() & _EVENT:
        if rows := _rows_of(value):
            for row in rows:
                yield from _unwrap(json.dumps(row), row, ms)
            return
        for name in _PACKED:
            if (packed := _unpack(name, value.get(name))) is not None:
                message, own_ms = packed
                times = (maybe_ms(_tidy(value.get(noted))) for noted in _NOTED)
                noted_ms = next(filter(None, times), own_ms or ms)
                if "{" in message:  # else a line of a log, and no event
                    yield from _unwrap(message, parse(message), noted_ms)
                return
        sns = value.get("Sns", value)
        if isinstance(sns, dict) and isinstance(sns.get("Message"), str):
            yield from _unwrap(sns["Message"], None, maybe_ms(sns.get("Timestamp")) or ms)
            return
        # The pipe writes these names in one way, `aws sqs receive-message` in another.
        record = {name[:1].lower() + name[1:]: part for name, part in value.items()}
        if "messageId" in record and "body" in record:
            attributes = record.get("attributes")
            sent = attributes.get("SentTimestamp") if isinstance(attributes, dict) else None
            yield record, maybe_ms(sent) or ms
            return
    if not (isinstance(value, dict) and value.get("topicName") == _HEARTBEAT):
        yield {"body": text}, ms


def _unpack(name: str, inner: Any) -> tuple[str, int | None] | None:
    """Returns the message in a field of a log, and the time in front of it."""
    if isinstance(inner, dict) and inner.keys() & {*_EVENT, "Records"}:
        return json.dumps(inner), None
    if not isinstance(inner, str) or (name not in _PACKED[:2] and '"topicName"' not in inner):
        return None
    head = _HEAD.match(inner)
    return inner[head.end() if head else 0 :].strip(), head and maybe_ms(_find_time(head[0]))


def _rows_of(value: dict[str, Any]) -> list[Any]:
    """Returns the rows that a file of AWS, or of a browser, keeps in one object."""
    for name in ("Records", "Messages", "events", "logEvents"):
        rows = value.get(name)
        if isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows):
            return rows
    if isinstance(results := value.get("results"), list):  # aws logs get-query-results
        return [{c["field"]: c.get("value") for c in row} for row in results]
    entries = value["log"].get("entries", []) if isinstance(value.get("log"), dict) else []
    return [row for entry in entries for row in entry.get("_webSocketMessages", [])]  # of a HAR


def _tidy(noted: Any) -> Any:
    return (_find_time(noted) or noted) if isinstance(noted, str) else noted
