"""Every form in which people have events is read alike; what holds no event is refused by name."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import pytest

from bench.events import START_MS, Centre, Event
from once.errors import OnceError
from once.lines import Line, Source, find_sources, read_lines, read_records
from proof.events import iso

CENTRE = Centre(5)
EVENTS = [
    CENTRE.conversation("customer.start", START_MS),
    CENTRE.conversation("acd.start", START_MS + 500),
    CENTRE.presence(CENTRE.id(), "AVAILABLE", START_MS + 700),
]
MANY = [CENTRE.conversation("acw", START_MS + at) for at in range(200)]
ARRIVED_MS = START_MS + 900
NO_GZIP = "could not be read to its end: it is no whole gzip file"


def lines(events: list[Event]) -> str:
    return "\n".join(map(json.dumps, events)) + "\n"


def logged(event: Event) -> dict[str, Any]:
    return {"timestamp": START_MS, "ingestionTime": ARRIVED_MS, "message": json.dumps(event)}


def filtered(events: list[Event]) -> str:
    """Prints the content of a log group as the AWS CLI does."""
    return json.dumps({"events": [logged(x) for x in events], "searchedLogStreams": []}, indent=4)


def received(event: Event) -> dict[str, Any]:
    return {
        "MessageId": event["id"],
        "ReceiptHandle": "h",
        "Body": json.dumps(event),
        "Attributes": {"SentTimestamp": str(ARRIVED_MS)},
    }


def of_lambda(event: Event) -> dict[str, Any]:
    """Makes an SQS record as Lambda gets it, and as the test event of its console has it."""
    return {
        "messageId": event["id"],
        "body": json.dumps(event),
        "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": str(ARRIVED_MS)},
        "eventSource": "aws:sqs",
    }


def notified(event: Event) -> dict[str, Any]:
    return {"Type": "Notification", "Message": json.dumps(event), "Timestamp": iso(ARRIVED_MS)}


BARE: dict[str, Callable[[list[Event]], str]] = {
    "lines": lines,
    "an array": json.dumps,
    "an array over lines": lambda events: json.dumps(events, indent=2),
    "one behind the other, as Firehose writes them": lambda e: "".join(map(json.dumps, e)),
    "one over lines behind the other": lambda e: "\n".join(json.dumps(x, indent=1) for x in e),
}
WITH_ARRIVAL: dict[str, Callable[[list[Event]], str]] = {
    "aws logs filter-log-events": filtered,
    "an export of a log group": lambda e: "".join(
        f"{iso(ARRIVED_MS)} {json.dumps(x)}\n" for x in e
    ),
    "aws logs tail": lambda e: "".join(f"{iso(ARRIVED_MS)} a-stream {json.dumps(x)}\n" for x in e),
    "the subscription of a log group": lambda e: json.dumps(
        {"messageType": "DATA_MESSAGE", "logGroup": "g", "logEvents": [logged(x) for x in e]}
    ),
    "aws sqs receive-message": lambda e: json.dumps({"Messages": [received(x) for x in e]}),
    "a Lambda event of SQS": lambda e: json.dumps({"Records": [of_lambda(x) for x in e]}, indent=2),
    "a Lambda event of SNS": lambda e: json.dumps({"Records": [{"Sns": notified(x)} for x in e]}),
    "queue records in lines": lambda e: lines([of_lambda(x) for x in e]),
    "notifications of SNS": lambda e: lines([notified(x) for x in e]),
}
FORMS = BARE | WITH_ARRIVAL


def read(path: Path) -> tuple[list[Any], Source]:
    [source] = find_sources([path])
    return [json.loads(one.text) for one in read_records(source)], source


def texts(path: Path) -> list[str]:
    return [one.text for one in read_records(Source(path, "x"))]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_every_form_holds_the_same_events(
    tmp_path: Path, form: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "capture"
    path.write_bytes(pack(FORMS[form](EVENTS).encode()))
    found, source = read(path)
    assert found == EVENTS
    assert (source.records, source.trouble) == (3, None)
    assert [line.problem for line in read_lines(path)] == [None, None, None]


@pytest.mark.parametrize("form", WITH_ARRIVAL)
def test_the_arrival_is_read_where_it_is_noted(tmp_path: Path, form: str) -> None:
    path = tmp_path / "capture"
    path.write_text(FORMS[form](EVENTS))
    records = [one.record for one in read_records(Source(path, "x"))]
    assert {one["attributes"]["SentTimestamp"] for one in records} == {str(ARRIVED_MS)}


def test_a_form_is_read_whole_however_long_it_is(tmp_path: Path) -> None:
    for form, write in FORMS.items():
        path = tmp_path / "capture"
        path.write_text(write(MANY * 3))
        assert read(path)[0] == MANY * 3, form


def test_a_file_from_powershell_is_read(tmp_path: Path) -> None:
    path = tmp_path / "capture.json"
    path.write_bytes(filtered(EVENTS).encode("utf-16"))
    assert read(path)[0] == EVENTS


def test_texts_stay_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "events.json"
    path.write_bytes('\ufeff[ {"a": 1.50} ,\r\n {"a": 1, "a": 2}, "x\u2028y" ]'.encode())
    assert texts(path) == ['{"a": 1.50}', '{"a": 1, "a": 2}', '"x\u2028y"']


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}\n{"a":\n', ['{"a": 1}', '{"a":']),
        ('{"a":\n{"a": 1}\n', ['{"a":', '{"a": 1}']),
        ("not json\n\n7\n", ["not json", "7"]),
        ('{"a": "x\n{"a": 1}{"a": 2}', ['{"a": "x', '{"a": 1}', '{"a": 2}']),
        ("[" * 100_000, []),
        ('{"a":' * 100_000, ['{"a":' * 100_000]),
    ],
    ids=["at the end", "at the beginning", "no JSON", "in a string", "brackets", "too deep"],
)
def test_a_broken_text_spoils_no_other(tmp_path: Path, text: str, found: list[str]) -> None:
    path = tmp_path / "events.json"
    path.write_text(text)
    assert texts(path) == found


DAMAGES: dict[str, Callable[[str, int], str]] = {
    "cut out": lambda text, at: text[:at] + text[at + 700 :],
    "a letter lost": lambda text, at: text[:at] + text[at + 1 :],
    "a quote": lambda text, at: text[:at] + '"' + text[at:],
    "a brace": lambda text, at: text[:at] + "{" + text[at:],
    "a line end": lambda text, at: text[:at] + "\n" + text[at:],
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("form", ["lines", "an array over lines", "aws logs filter-log-events"])
def test_damage_costs_few_others_and_is_seen(tmp_path: Path, form: str, damage: str) -> None:
    text = FORMS[form](MANY[:20])
    random = Random(form + damage)  # noqa: S311 - to be repeated, not to be guessed
    for number in range(10):
        at = random.randrange(len(text))
        path = tmp_path / f"{number}"
        path.write_text(DAMAGES[damage](text, at))
        found = texts(path)
        whole = [one for one in map(_parsed, found) if one in MANY[:20]]
        assert len(whole) >= 18, at
        assert len(whole) == 20 or len(found) > len(whole), at


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def test_a_gzip_file_without_its_end_says_so_and_keeps_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "capture.gz"
    packed = gzip.compress(lines(MANY * 20).encode())
    path.write_bytes(packed[: len(packed) * 9 // 10])
    source = Source(path, "capture.gz")
    assert 2_000 < len(list(read_records(source))) < 4_000
    assert source.trouble == NO_GZIP


@pytest.mark.parametrize(
    ("rest", "trouble"),
    [(b"garbage", NO_GZIP), (b"\0" * 600, None), (gzip.compress(b"{}"), None)],
    ids=["garbage", "zeros", "another file"],
)
def test_bytes_after_a_gzip_file_cost_nothing_of_it(
    tmp_path: Path, rest: bytes, trouble: str | None
) -> None:
    path = tmp_path / "capture.gz"
    path.write_bytes(gzip.compress(lines(MANY).encode()) + rest)
    found, source = read(path)
    assert found[:200] == MANY
    assert source.trouble == trouble


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_pipe_is_read_as_a_file_is(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = Thread(target=path.write_bytes, args=(pack(lines(MANY).encode()),))
    writer.start()
    found, source = read(path)
    writer.join()
    assert found == MANY
    assert source.trouble is None


def test_a_folder_is_read_in_the_order_of_its_names_whatever_is_in_it(tmp_path: Path) -> None:
    for hour, event in (("09", EVENTS[0]), ("08", EVENTS[1])):
        folder = tmp_path / "2025" / "10" / hour
        folder.mkdir(parents=True)
        (folder / f"stream-{hour}.gz").write_bytes(gzip.compress(lines([event]).encode()))
    (tmp_path / "empty").write_text("")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\0\0")
    (tmp_path / ".hidden").write_text("{}")
    sources = find_sources([tmp_path])
    assert [len(list(read_records(source))) for source in sources] == [1, 1, 0, 0]
    assert [source.name for source in sources] == [
        "2025/10/08/stream-08.gz",
        "2025/10/09/stream-09.gz",
        "empty",
        "picture.png",
    ]
    assert sources[3].trouble == "is no text: events are JSON, perhaps packed by gzip"


def test_a_line_has_its_number_in_the_file_and_its_problem(tmp_path: Path) -> None:
    event = json.dumps(EVENTS[0])
    file = tmp_path / "events.jsonl"
    file.write_text(f"{event}\n\nnot json\n")
    assert read_lines(file) == [Line(1, event), Line(3, "not json", "NOT_JSON")]


def test_events_that_share_a_line_are_numbered_one_by_one(tmp_path: Path) -> None:
    file = tmp_path / "events.json"
    file.write_text(json.dumps(EVENTS))
    assert [line.number for line in read_lines(file)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no events: it is empty"),
        ("[]\n", "holds no events: it is empty"),
        ("some notes\nof mine\n", "2 times a text that is not JSON"),
        ('{"messageId": "m", "outcome": "PROCESSED"}', "1 times a record of the outcome log"),
        ('{"received": 1, "outcomes": {}, "events": [{"line": 1}]}', "a report of once run"),
        ('{"name": "x", "version": 1}', "its fields: name, version"),
        ("[7, 8]", "2 times a JSON value that is no object"),
    ],
)
def test_a_file_without_events_is_refused_with_what_it_holds(
    tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "notes"
    file.write_text(text)
    with pytest.raises(OnceError) as refused:
        read_lines(file)
    assert said in str(refused.value)


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(OnceError, match="Cannot read"):
        read_lines(tmp_path / name)
