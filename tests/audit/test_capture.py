"""Captures of every usual form are read alike, and what is none is counted and named."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.events import START_MS, Centre, Event, iso
from once.audit.answer import answer
from once.audit.capture import Capture
from once.audit.report import AuditReport
from once.audit.run import audit_capture
from once.errors import OnceError

CENTRE = Centre(5)
ONE = CENTRE.conversation("customer.start", START_MS)
OTHER = CENTRE.conversation("acd.start", START_MS + 500)
EVENTS = [ONE, ONE, CENTRE.published_again(ONE, 40), OTHER]


def audited(*paths: Path) -> AuditReport:
    capture = Capture.of(paths)
    counts, _ = audit_capture(capture, 30, lambda text: text, lambda _: None)
    return answer(counts, capture)


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
    assert list(troubles) == ["stream-08.gz", "stream-09.gz", "empty", "picture.png"]
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


def test_a_gzip_file_without_its_end_says_so_and_keeps_what_was_read(tmp_path: Path) -> None:
    events = [CENTRE.conversation("acw", START_MS + at) for at in range(3_000)]
    path = tmp_path / "capture.gz"
    path.write_bytes(gzip.compress(lines(events).encode())[:-40_000])
    report = audited(path)
    assert 0 < report.received < 3_000
    assert report.files[0].trouble == "could not be read to its end: it is no whole gzip file"


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OnceError, match="There is no"):
        Capture.of([tmp_path / "nowhere"])


def test_an_array_in_one_line_is_told_by_record(tmp_path: Path) -> None:
    path = tmp_path / "capture"
    path.write_text(json.dumps(EVENTS))
    envelope = next(kind for kind in audited(path).copy_kinds if kind.kind == "envelope")
    assert envelope.examples[0].startswith("line 1, record 2, first in line 1 (conversation")
