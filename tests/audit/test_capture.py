"""Captures of every usual form are read alike, and what is none is counted and named."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.events import START_MS, Centre, Event
from once.audit.answer import answer
from once.audit.capture import Capture
from once.audit.report import AuditReport
from once.audit.shown import Shown
from once.errors import OnceError
from proof.events import iso

CENTRE = Centre(5)
ONE = CENTRE.conversation("customer.start", START_MS)
OTHER = CENTRE.conversation("acd.start", START_MS + 500)
EVENTS = [ONE, ONE, CENTRE.published_again(ONE, 40), OTHER]


def audited(*paths: Path, routes: Path | None = None) -> AuditReport:
    capture = Capture(paths, routes)
    shown = Shown(with_ids=True)
    return answer(capture.audit(30, shown, lambda _: None), shown, capture.sources)


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
    """Prints the content of a log group as the CLI does."""
    return json.dumps({"events": [logged(x) for x in events], "searchedLogStreams": []}, indent=4)


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
    assert report.late == 0
    assert [file.name for file in report.files] == list(streams)


def test_lines_of_several_files_are_told_by_the_path_within_the_folder(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "000000").write_text(lines([ONE]))
    (kind,) = audited(tmp_path).copy_kinds
    assert kind.examples[0].startswith("two/000000 line 1, first in one/000000 line 1 (")


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OnceError, match="there is no such file"):
        Capture([tmp_path / "nowhere"])


def test_an_array_in_one_line_is_told_by_record(tmp_path: Path) -> None:
    path = tmp_path / "capture"
    path.write_text(json.dumps(EVENTS))
    envelope = next(kind for kind in audited(path).copy_kinds if kind.kind == "envelope")
    assert envelope.examples[0].startswith("line 1, record 2, first in line 1 (conversation")
