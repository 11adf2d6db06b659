"""Every form in which people have events is read alike; what holds no event is refused by name."""

import csv
import gzip
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import pytest
from once_enrichment.envelope import iso
from once_enrichment.handler import normalise

from bench.events import START_MS, Centre, Event
from once.errors import OnceError
from once.lines import Line, Source, find_sources, parse, read_lines, read_records

CENTRE = Centre(5)
EVENTS = [
    CENTRE.conversation("customer.start", START_MS),
    CENTRE.conversation("acd.start", START_MS + 500),
    CENTRE.presence(CENTRE.id(), "AVAILABLE", START_MS + 700),
]
MANY = [CENTRE.conversation("acw", START_MS + at) for at in range(200)]
ARRIVED_MS = START_MS + 900
NOW_MS = START_MS + 86_400_000


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


def plain_time() -> str:
    """Writes the time as Insights and the console do, without a zone."""
    return iso(ARRIVED_MS).replace("T", " ").rstrip("Z")


def cell(field: str, value: Any) -> dict[str, str]:
    return {"field": field, "value": value if isinstance(value, str) else json.dumps(value)}


def as_csv(names: list[str], events: list[Event]) -> str:
    out = io.StringIO()
    rows = csv.writer(out)
    rows.writerow(names)
    rows.writerows([plain_time(), json.dumps(event, indent=1)] for event in events)
    return out.getvalue()


def of_invocation(event: Event) -> list[str]:
    return [
        "START RequestId: r Version: $LATEST\n",
        f"{iso(ARRIVED_MS)}\tr\tINFO\tEvent: {json.dumps(event)}\n",
        f"{iso(ARRIVED_MS)}\tr\tINFO\tdone\n",
        "END RequestId: r\n",
    ]


def of_browser(event: Event) -> dict[str, Any]:
    return {"type": "receive", "time": ARRIVED_MS / 1000, "data": json.dumps(event)}


BARE: dict[str, Callable[[list[Event]], str]] = {
    "lines": lines,
    "an array over lines": lambda events: json.dumps(events, indent=2),
    "one behind the other, as Firehose writes them": lambda e: "".join(map(json.dumps, e)),
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
    "notifications of SNS": lambda e: lines([notified(x) for x in e]),
    "Insights, exported as CSV": lambda e: as_csv(["@timestamp", "@message"], e),
    "the console's list of log events": lambda e: as_csv(["timestamp", "message"], e),
    "Insights, exported as JSON": lambda e: json.dumps(
        [{"@timestamp": plain_time(), "@message": event} for event in e], indent=2
    ),
    "aws logs get-query-results": lambda e: json.dumps(
        {"results": [[cell("@timestamp", plain_time()), cell("@message", x)] for x in e]}
    ),
    "the log of a Lambda in JavaScript": lambda e: "".join(
        f"START RequestId: r Version: 1\n{iso(ARRIVED_MS)}\tr\tINFO\tEvent: {json.dumps(x)}\n"
        f"END RequestId: r\nREPORT RequestId: r Duration: 3 ms\n"
        for x in e
    ),
    "the log of a Lambda in Python": lambda e: "".join(
        f"[INFO]\t{iso(ARRIVED_MS)}\tr\tEvent: {json.dumps(x)}\n" for x in e
    ),
    "a Lambda's log in JSON": lambda e: lines(
        [{"timestamp": iso(ARRIVED_MS), "level": "INFO", "message": x} for x in e]
    ),
    "a Lambda's log, exported": lambda e: "".join(
        f"{iso(ARRIVED_MS)} {text}\n"
        for x in e
        for text in ("START RequestId: r", f"INFO Event: {json.dumps(x)}", "END RequestId: r")
    ),
    "a Lambda's log by filter-log-events": lambda e: json.dumps(
        {"events": [{"timestamp": ARRIVED_MS, "message": m} for x in e for m in of_invocation(x)]}
    ),
    "a log of a WebSocket": lambda e: "".join(
        f'{iso(ARRIVED_MS)} < {{"topicName":"channel.metadata","eventBody":{{}}}}\n'
        f"{iso(ARRIVED_MS)} < {json.dumps(x)}\n"
        for x in e
    ),
    "a WebSocket in a browser's HAR": lambda e: json.dumps(
        {"log": {"entries": [{"_webSocketMessages": [of_browser(x) for x in e]}]}}
    ),
}
FORMS = BARE | WITH_ARRIVAL


def read(path: Path) -> tuple[list[Any], Source]:
    [source] = find_sources([path])
    return [json.loads(captured.text) for captured in read_records(source)], source


def texts(path: Path) -> list[str]:
    return [captured.text for captured in read_records(Source(path, "x"))]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_every_form_holds_the_same_events_with_the_time_of_their_arrival(
    tmp_path: Path, form: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "capture"
    path.write_bytes(pack(FORMS[form](EVENTS).encode()))
    source = Source(path, "x")
    captured = list(read_records(source, now_ms=NOW_MS))
    assert [json.loads(one.text) for one in captured] == EVENTS
    assert (source.records, source.trouble) == (3, None)
    assert [line.problem for line in read_lines(path)] == [None, None, None]
    arrived_ms = ARRIVED_MS if form in WITH_ARRIVAL else 0
    assert {one.arrived_ms for one in captured} == {arrived_ms}
    sent = {one.record["attributes"]["SentTimestamp"] for one in captured}
    assert sent == {str(arrived_ms or NOW_MS)}  # else the moment of reading


def test_long_file_of_each_form_is_read_whole(tmp_path: Path) -> None:
    for form, write in FORMS.items():
        path = tmp_path / "capture"
        path.write_text(write(MANY))
        assert read(path)[0] == MANY, form


def test_text_stays_as_it_is_written(tmp_path: Path) -> None:
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
        ("2025-10-09T08:53:20Z a line of a log\n2025-10-09 08:53:20 7\n7", ["7"]),
    ],
    ids=["at the end", "at the beginning", "no JSON", "in a string", "brackets", "deep", "log"],
)
def test_broken_text_spoils_no_other(tmp_path: Path, text: str, found: list[str]) -> None:
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
def test_damage_costs_few_events_and_is_seen(tmp_path: Path, form: str, damage: str) -> None:
    text = FORMS[form](MANY[:20])
    random = Random(form + damage)  # noqa: S311 - to be repeated, not to be guessed
    for number in range(10):
        place = random.randrange(len(text))
        path = tmp_path / f"{number}"
        path.write_text(DAMAGES[damage](text, place))
        found = texts(path)
        whole = [event for event in map(parse, found) if event in MANY[:20]]
        assert len(whole) >= 18, place
        assert len(whole) == 20 or len(found) > len(whole), place


def test_gzip_file_without_its_end_keeps_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "capture.gz"
    packed = gzip.compress(lines(MANY * 20).encode())
    path.write_bytes(packed[: len(packed) * 9 // 10])
    source = Source(path, "capture.gz")
    assert 2_000 < len(list(read_records(source))) < 4_000
    assert source.trouble is not None


def test_pipe_is_read_as_a_file_is(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = Thread(target=path.write_bytes, args=(gzip.compress(lines(MANY).encode()),))
    writer.start()
    found, source = read(path)
    writer.join()
    assert (found, source.trouble) == (MANY, None)


def test_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    for hour, event in (("09", EVENTS[0]), ("08", EVENTS[1])):
        folder = tmp_path / "2025" / hour
        folder.mkdir(parents=True)
        (folder / "stream.gz").write_bytes(gzip.compress(lines([event]).encode()))
    (tmp_path / "aws-logs-write-test").write_text("Permission Check Successful")
    (tmp_path / "empty").write_text("")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\0\0")
    (tmp_path / ".hidden").write_text("{}")
    sources = find_sources([tmp_path])
    assert [len(list(read_records(source))) for source in sources] == [1, 1, 0, 0]
    names = ["2025/08/stream.gz", "2025/09/stream.gz", "empty", "picture.png"]
    assert [source.name for source in sources] == names
    assert [source.trouble is None for source in sources] == [True, True, True, False]


def test_line_to_send_has_its_number_and_its_problem(tmp_path: Path) -> None:
    event = json.dumps(EVENTS[0])
    file = tmp_path / "events.jsonl"
    file.write_text(f"{event}\n\nnot json\n")
    assert read_lines(file) == [Line(1, event), Line(3, "not json", "NOT_JSON")]
    file.write_text(json.dumps(EVENTS))
    assert [line.number for line in read_lines(file)] == [1, 2, 3]


def test_event_without_a_time_is_sent_with_the_time_of_its_line(tmp_path: Path) -> None:
    bare = {"conversationId": "c-1", "status": "open"}
    file = tmp_path / "events.jsonl"
    file.write_text(f"{iso(ARRIVED_MS)} {json.dumps(bare)}\n{json.dumps(bare)}\n")
    timed, undated = read_lines(file)
    now = {"attributes": {"SentTimestamp": str(NOW_MS)}}
    assert normalise({"body": timed.text, **now})["occurredAtMs"] == ARRIVED_MS
    assert normalise({"body": undated.text, **now})["occurredAtMs"] == NOW_MS


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "some notes\nof mine\n",
        '{"messageId": "m", "outcome": "PROCESSED"}',
        '{"received": 1, "outcomes": {}, "events": [{"line": 1}]}',
    ],
)
def test_file_without_events_is_refused(tmp_path: Path, text: str | None) -> None:
    file = tmp_path / "notes"
    if text is not None:
        file.write_text(text)
    with pytest.raises(OnceError, match="notes"):
        read_lines(file)
