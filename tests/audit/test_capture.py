"""Captures of every usual form are read alike, and what is none is counted and named."""

import gzip
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import pytest

from bench.events import START_MS, Centre, Event, iso
from once.audit.answer import answer
from once.audit.capture import Capture, _Splitter
from once.audit.report import AuditReport
from once.audit.run import audit_capture
from once.audit.shown import Shown
from once.errors import OnceError

CENTRE = Centre(5)
ONE = CENTRE.conversation("customer.start", START_MS)
OTHER = CENTRE.conversation("acd.start", START_MS + 500)
EVENTS = [ONE, ONE, CENTRE.published_again(ONE, 40), OTHER]


def audited(*paths: Path) -> AuditReport:
    capture = Capture.of(paths)
    shown = Shown(with_ids=True)
    counts, _ = audit_capture(capture, 30, shown, lambda _: None)
    return answer(counts, capture, shown)


def lines(events: list[Event]) -> str:
    return "\n".join(map(json.dumps, events)) + "\n"


def sqs(number: int, event: Event) -> dict[str, Any]:
    attributes = {"SentTimestamp": str(START_MS + 900)}
    return {"MessageId": f"m{number}", "Body": json.dumps(event), "Attributes": attributes}


def logged(event: Event) -> dict[str, Any]:
    return {"timestamp": START_MS, "ingestionTime": START_MS + 900, "message": json.dumps(event)}


FORMS: dict[str, Callable[[list[Event]], str]] = {
    "a line each": lines,
    "an array": json.dumps,
    "an array over lines": lambda events: json.dumps(events, indent=2),
    "with nothing between, as Firehose writes them": lambda e: "".join(map(json.dumps, e)),
    "over lines, one after the other": lambda e: "\n".join(json.dumps(x, indent=1) for x in e),
    "from aws logs filter-log-events": lambda e: json.dumps(
        {"events": [logged(x) for x in e], "searchedLogStreams": []}, indent=4
    ),
    "from a log group's export": lambda e: "".join(f"{iso(START_MS)} {json.dumps(x)}\n" for x in e),
    "from aws logs tail": lambda e: "".join(
        f"2025-10-09T08:53:20+00:00 a-stream {json.dumps(x)}\n" for x in e
    ),
    "from a log group's subscription": lambda e: json.dumps(
        {"messageType": "DATA_MESSAGE", "logGroup": "g", "logEvents": [logged(x) for x in e]}
    ),
    "from aws sqs receive-message": lambda e: json.dumps(
        {"Messages": [sqs(number, x) for number, x in enumerate(e)]}
    ),
    "as SNS hands them on": lambda e: lines(
        [{"Type": "Notification", "Message": json.dumps(x)} for x in e]
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("packed", [False, True])
def test_every_form_of_the_same_events_gives_the_same_answer(
    tmp_path: Path, form: str, packed: bool
) -> None:
    text = FORMS[form](EVENTS).encode()
    path = tmp_path / "capture"
    path.write_bytes(gzip.compress(text) if packed else text)
    report = audited(path)
    assert (report.received, report.outcomes) == (4, {"PROCESSED": 2, "DUPLICATE": 2})
    assert {kind.kind: kind.count for kind in report.copy_kinds} == {"envelope": 1, "published": 1}
    assert report.families[0].name == "conversation.customer.start"


def test_a_folder_is_read_in_the_order_of_its_names_whatever_lies_in_it(tmp_path: Path) -> None:
    for hour, event in (("09", ONE), ("08", OTHER)):
        folder = tmp_path / "2025" / "10" / hour
        folder.mkdir(parents=True)
        (folder / f"stream-{hour}.gz").write_bytes(gzip.compress(lines([event]).encode()))
    (tmp_path / "empty").write_text("")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\0\0")
    report = audited(tmp_path)
    assert report.received == 2
    troubles = {file.name: file.trouble for file in report.files}
    assert list(troubles) == [
        "2025/10/08/stream-08.gz",
        "2025/10/09/stream-09.gz",
        "empty",
        "picture.png",
    ]
    assert troubles["empty"] == "holds nothing"
    assert troubles["picture.png"] == "is no text: a capture is JSON, perhaps packed by gzip"


def test_a_line_cut_off_spoils_no_other(tmp_path: Path) -> None:
    whole = json.dumps(ONE)
    path = tmp_path / "capture"
    path.write_text("\n".join([whole[:300], json.dumps(OTHER), "no JSON", whole, whole[:400]]))
    report = audited(path)
    assert report.outcomes == {"PROCESSED": 2, "PARKED": 3}
    (broken,) = report.broken
    assert (broken.reason, broken.examples) == ("NOT_JSON", ["line 1", "line 3", "line 5"])


MANY = [CENTRE.conversation("acw", START_MS + at) for at in range(200)]


def filtered(events: list[Event]) -> str:
    """As the CLI prints what a log group holds."""
    return json.dumps({"events": [logged(x) for x in events], "searchedLogStreams": []}, indent=4)


@pytest.mark.parametrize("damaged", [0, 100, 199])
@pytest.mark.parametrize(
    "damage",
    [
        lambda record: record.replace('"message": "{', '"message": "{"'),
        lambda record: record.replace('"message"', "message"),
        lambda record: record[: len(record) // 2],
        lambda record: record.replace("{\n", "", 1),
        lambda _: "cut off by an editor",
    ],
)
def test_a_broken_record_in_a_printed_log_group_costs_no_other(
    tmp_path: Path, damage: Callable[[str], str], damaged: int
) -> None:
    text = filtered(MANY)
    at = [match.start() for match in re.finditer(r"\{\s+\"timestamp\"", text)][damaged]
    end = text.index("\n        }", at)
    path = tmp_path / "capture.json"
    path.write_text(text[:at] + damage(text[at:end]) + text[end:])
    report = audited(path)
    assert report.outcomes["PROCESSED"] == 199
    assert 1 <= report.outcomes["PARKED"] <= 5


@pytest.mark.parametrize("between", ["", "\n"])
def test_a_page_that_was_cut_off_is_counted_and_the_next_is_read(
    tmp_path: Path, between: str
) -> None:
    first, second = filtered(MANY[:100]), filtered(MANY[100:])
    cut = first.index(json.dumps(json.dumps(MANY[50]))) + 100
    path = tmp_path / "capture.json"
    path.write_text(first[:cut] + between + second)
    report = audited(path)
    assert report.outcomes == {"PROCESSED": 150, "PARKED": 1}
    assert report.broken[0].reason == "NOT_JSON"


@pytest.mark.parametrize("indent", [1, 4])
@pytest.mark.parametrize("between", ["", "\n"])
def test_a_laid_out_event_that_was_cut_off_is_one_broken_record(
    tmp_path: Path, indent: int, between: str
) -> None:
    first, *others = (json.dumps(event, indent=indent) for event in MANY[:5])
    path = tmp_path / "capture"
    path.write_text(first[: len(first) * 2 // 3] + between + "\n".join(others))
    assert audited(path).outcomes == {"PROCESSED": 4, "PARKED": 1}


def test_what_firehose_wrote_without_line_ends_is_read_past_a_broken_event(tmp_path: Path) -> None:
    texts = [json.dumps(event) for event in MANY]
    texts[50], texts[120] = texts[50][:200], texts[120][150:]
    path = tmp_path / "capture"
    path.write_text("".join(texts))
    report = audited(path)
    # Of the second all of the detail is left, and that says everything.
    assert report.outcomes["PROCESSED"] == 199
    assert 2 <= report.outcomes["PARKED"] <= 4


DAMAGES: dict[str, Callable[[str, int], str]] = {
    "cut out": lambda text, at: text[:at] + text[at + 700 :],
    "a letter lost": lambda text, at: text[:at] + text[at + 1 :],
    "a quote": lambda text, at: text[:at] + '"' + text[at:],
    "a brace": lambda text, at: text[:at] + "{" + text[at:],
    "a line end": lambda text, at: text[:at] + "\n" + text[at:],
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("form", [form for form in FORMS if "subscription" not in form])
def test_damage_anywhere_costs_what_it_touches_and_is_counted(form: str, damage: str) -> None:
    text = FORMS[form](MANY[:20])
    random = Random(form + damage)  # noqa: S311 - to be repeated, not to be guessed
    for _ in range(10):
        at = random.randrange(len(text))
        damaged = DAMAGES[damage](text, at)
        found = [one.text for one in _Splitter(iter([damaged]), 0).texts()]
        whole = [one for one in found if _is_json(one)]
        lost = sum(
            event["id"] in damaged and not any(event["id"] in one for one in whole)
            for event in MANY[:20]
        )
        assert lost <= 2, at
        assert lost == 0 or len(found) > len(whole), at


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


NO_GZIP = "could not be read to its end: it is no whole gzip file"


@pytest.mark.parametrize("count", [200, 3_000])
def test_a_gzip_file_without_its_end_says_so_and_keeps_what_was_read(
    tmp_path: Path, count: int
) -> None:
    events = [CENTRE.conversation("acw", START_MS + at) for at in range(count)]
    path = tmp_path / "capture.gz"
    packed = gzip.compress(lines(events).encode())
    path.write_bytes(packed[: len(packed) * 9 // 10])
    report = audited(path)
    assert count * 0.8 < report.received < count
    assert report.files[0].trouble == NO_GZIP


@pytest.mark.parametrize(
    ("rest", "trouble"),
    [(b"garbage", NO_GZIP), (b"\0" * 600, None), (gzip.compress(b"{}"), None)],
    ids=["garbage", "zeros", "another file"],  # else the time in the last would be in its name
)
def test_what_follows_a_gzip_file_costs_nothing_of_it(
    tmp_path: Path, rest: bytes, trouble: str | None
) -> None:
    path = tmp_path / "capture.gz"
    path.write_bytes(gzip.compress(lines(MANY).encode()) + rest)
    report = audited(path)
    assert report.outcomes["PROCESSED"] == 200
    assert report.files[0].trouble == trouble


@pytest.mark.parametrize("packed", [False, True])
def test_a_pipe_is_read_as_a_file_is(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    data = lines(MANY).encode()
    writer = Thread(target=path.write_bytes, args=(gzip.compress(data) if packed else data,))
    writer.start()
    report = audited(path)
    writer.join()
    assert report.outcomes == {"PROCESSED": 200}
    assert report.files[0].trouble is None


def test_an_exported_log_group_is_read_in_the_order_of_arrival_whatever_its_streams(
    tmp_path: Path,
) -> None:
    user = CENTRE.id()
    times = [START_MS + at * 60_000 for at in range(60)]
    events = [CENTRE.presence(user, ("BUSY", "AWAY")[at % 2], ms) for at, ms in enumerate(times)]
    streams: dict[str, str] = {"a/000000.gz": "", "b/000000.gz": "", "b/000001.gz": ""}
    for at, (ms, event) in enumerate(zip(times, events, strict=True)):
        name = "a/000000.gz" if at % 2 else f"b/00000{at // 30}.gz"
        streams[name] += f"{iso(ms)} {json.dumps(event)}\n"
    for name, text in streams.items():
        path = tmp_path / "export" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()))
    report = audited(tmp_path / "export")
    assert report.outcomes == {"PROCESSED": 60}
    assert report.out_of_order == 0
    assert [file.name for file in report.files] == list(streams)
    assert not any("order of the files" in line for line in report.conclusions)


def test_files_whose_arrivals_cannot_be_put_in_order_are_said_to_be_out_of_order(
    tmp_path: Path,
) -> None:
    user = CENTRE.id()
    for name, first in (("a", 60_000), ("b", 0)):
        events = [
            {"timestamp": ms, "message": json.dumps(CENTRE.presence(user, "BUSY", ms))}
            for ms in range(START_MS + first, START_MS + first + 50_000, 10_000)
        ]
        batch = {"messageType": "DATA_MESSAGE", "logGroup": "g", "logEvents": events}
        (tmp_path / name).write_text(json.dumps(batch))
    report = audited(tmp_path)
    assert report.outcomes["STALE"] == 5
    assert any("5 events arrived before one" in line for line in report.conclusions)


def test_lines_of_several_files_are_told_by_the_path_within_the_folder(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "000000").write_text(lines([ONE]))
    (kind,) = audited(tmp_path).copy_kinds
    assert kind.examples[0].startswith("two/000000 line 1, first in one/000000 line 1 (")


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OnceError, match="There is no"):
        Capture.of([tmp_path / "nowhere"])


def test_an_array_in_one_line_is_told_by_record(tmp_path: Path) -> None:
    path = tmp_path / "capture"
    path.write_text(json.dumps(EVENTS))
    envelope = next(kind for kind in audited(path).copy_kinds if kind.kind == "envelope")
    assert envelope.examples[0].startswith("line 1, record 2, first in line 1 (conversation")
