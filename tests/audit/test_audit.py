"""The audit reports the known answers of prepared streams."""

import contextlib
import json
import os
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from once_enrichment import ignored
from typer.testing import CliRunner, Result

from bench import recorded
from bench.compare.streams import streams
from bench.events import START_MS, Centre, Event
from once.audit.advice import duration
from once.audit.report import AuditReport
from once.cli import app
from proof.events import iso
from tests.audit.test_capture import audited, lines, logged
from tests.enrichment.examples import agent, snapshot

# Streams of the comparison that a capture can show: without faults on the way.
STREAMS = {stream.name: stream for stream in streams(recorded.read("compare")["seed"])}
SHOWN = (
    "copies",
    "other ids",
    "same millisecond",
    "same state again",
    "late copies",
    "a state returns",
    "undeclared field",
)
ROOT = Path(__file__).parents[2]
STORY = ROOT / "once" / "examples" / "story.jsonl"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
DAY_MS = 86_400_000


def once(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["audit", *map(str, arguments)])


def arriving(path: Path, events: list[tuple[int, Event]]) -> AuditReport:
    """Audits events, each with the time at which a log group got it."""
    records = [{"timestamp": at, "message": json.dumps(event)} for at, event in events]
    path.write_text(lines(records))
    return audited(path)


def kinds(report: AuditReport) -> dict[str, int]:
    return {kind.kind: kind.count for kind in report.copy_kinds}


def test_the_example_story_gives_what_a_run_of_it_gives() -> None:
    expected = json.loads(STORY.with_name("story.expected.json").read_text())
    said = json.loads(once(STORY, "--json").stdout)
    assert said["received"] == len(expected)
    assert said["outcomes"] == Counter(line["outcome"] for line in expected)


def test_two_integrations_are_named_with_what_to_deploy(tmp_path: Path) -> None:
    centre = Centre(1)
    sent = []
    for number in range(10):
        at = START_MS + number * 10_000
        event = centre.conversation("customer.end", at)
        sent += [(at, event), (at + 70, centre.published_again(event, 30, "reporting"))]
    report = arriving(tmp_path / "capture", sent)
    assert report.outcomes == {"PROCESSED": 10, "DUPLICATE": 10}
    assert kinds(report) == {"integration": 10}
    assert report.differences == {
        "envelope id": 10,
        "source": 10,
        "CorrelationId": 10,
        "publication time": 10,
    }
    assert report.distances is not None
    assert (report.distances.clock, report.distances.median_ms) == ("arrival", 70)
    assert {one.source: one.received for one in report.only_copies} == {"reporting": 10}
    assert report.plan is not None
    assert report.plan.parameters["SourcePrefix"].endswith("/events")


def test_each_cause_of_copies_has_its_own_distance(tmp_path: Path) -> None:
    centre = Centre(13)
    event = centre.conversation("customer.end", START_MS)
    again, second = centre.published_again(event, 30), centre.published_again(event, 0, "second")
    came = (0, event), (3, event), (40, again), (400_000, second)
    report = arriving(tmp_path / "capture", [(START_MS + at, one) for at, one in came])
    longest = {kind.kind: kind.longest_ms for kind in report.copy_kinds}
    assert longest == {"envelope": 3, "published": 40, "integration": 400_000}
    assert any(
        "two EventBridge integrations" in line and "6 min 40 s after" in line
        for line in report.conclusions
    )


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_500, "1.5 s"),
        (119_000, "119 s"),
        (400_000, "6 min 40 s"),
        (599_900, "10 min"),
        (3_600_000, "60 min"),
        (7_200_000, "2 h"),
        (9_000_000, "2 h 30 min"),
        (432_000_000, "5 days"),
    ],
)
def test_a_distance_is_said_in_the_units_in_which_people_think(ms: int, said: str) -> None:
    assert duration(ms) == said


def test_two_integrations_are_told_apart_though_neither_name_may_be_shown(tmp_path: Path) -> None:
    centre = Centre(11)
    sent = []
    for number in range(10):
        at = START_MS + number * 10_000
        event = centre.conversation("customer.end", at)
        again = centre.published_again(event, 30)
        event["source"] = event["source"].rpartition("/")[0] + "/events-2024"
        again["source"] = again["source"].rpartition("/")[0] + "/wallboard-2025"
        sent += [(at, event), (at + 70, again)]
    path = tmp_path / "capture"
    path.write_text(lines([logged(event) for _, event in sent]))
    said = json.loads(once(path, "--json").stdout)
    assert {one["kind"]: one["count"] for one in said["copyKinds"]} == {"integration": 10}
    assert [one["name"] for one in said["sources"]] == ["*", "* 2"]
    assert said["onlyCopies"][0]["source"] == "* 2"
    assert said["plan"] is None or "*" not in said["plan"]["parameters"]["SourcePrefix"]
    shown = arriving(path, sent)
    assert [one.name for one in shown.sources] == ["events-2024", "wallboard-2025"]
    assert shown.plan is not None
    assert shown.plan.parameters["SourcePrefix"].endswith("/events-2024")


def test_custom_events_without_a_time_are_copies_within_their_window(tmp_path: Path) -> None:
    def event(state: str) -> Event:
        return {"source": "my.app", "detail": {"conversation_id": "c-1", "status": state}}

    came = (0, "ringing"), (100, "ringing"), (59_000, "ringing"), (61_000, "ringing"), (90_000, "x")
    report = arriving(tmp_path / "c", [(START_MS + at, event(state)) for at, state in came])
    assert report.outcomes == {"PROCESSED": 3, "DUPLICATE": 2}
    assert kinds(report) == {"custom": 2}
    (window,) = report.windows
    assert (window.window_ms, window.count) == (60_000, 5)
    assert any("have no time at all" in line for line in report.advice)


def test_late_copies_and_older_states_are_told_apart(tmp_path: Path) -> None:
    centre = Centre(3)
    user = centre.id()
    busy, away = (
        centre.presence(user, state, START_MS + at) for state, at in (("BUSY", 0), ("AWAY", 5_000))
    )
    call = centre.conversation("acd.start", START_MS)
    report = arriving(
        tmp_path / "capture",
        [
            (START_MS + 5_100, away),
            (START_MS + 5_200, busy),
            (START_MS + 5_300, call),
            (START_MS + 5_300 + 400_000, call),
            (START_MS + 31 * DAY_MS, call),
        ],
    )
    # After 31 days nobody remembers: said openly, and counted as an act.
    assert report.outcomes == {"PROCESSED": 3, "DUPLICATE": 1, "STALE": 1}
    assert (report.late, report.longest_late_ms) == (1, 5_000)
    assert report.distances is not None
    assert report.distances.counts["to 1 h"] == 1


@pytest.mark.parametrize("name", SHOWN)
def test_each_happening_of_a_stream_of_the_comparison_acts_once(tmp_path: Path, name: str) -> None:
    stream = STREAMS[name]
    messages = sorted(stream.messages, key=lambda message: message.send_ms)
    report = arriving(
        tmp_path / "capture", [(START_MS + DAY_MS + one.send_ms, one.event) for one in messages]
    )
    assert report.outcomes["PROCESSED"] == len(stream.happenings)


def test_a_key_that_fell_back_says_which_field_was_missing(tmp_path: Path) -> None:
    event = Centre(4).conversation("acd.start", START_MS)
    del event["detail"]["eventBody"]["sessionId"]
    (fallback,) = arriving(tmp_path / "capture", [(START_MS, event)]).notes
    assert fallback.note == "missing sessionId: the whole body is the identity"
    assert fallback.examples == ["line 1"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


@given(st.data())
@settings(max_examples=150)
def test_no_value_in_any_field_ends_an_audit(data: st.DataObject) -> None:
    event = json.loads(data.draw(st.sampled_from(STORY.read_text().splitlines()[:30])))
    record = data.draw(st.sampled_from([event, {"messageId": "m", "body": event}, logged(event)]))
    place = record
    while True:
        name = data.draw(st.sampled_from([*place]))
        if isinstance(place[name], dict) and place[name] and data.draw(st.booleans()):
            place = place[name]
            continue
        place[name] = data.draw(VALUES)
        break
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "capture"
        path.write_text(json.dumps(record))
        assert audited(path).received <= 1


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Returns page and JSON of the story."""
    page = tmp_path_factory.mktemp("audit") / "audit.html"
    result = once(STORY, "--html", page, "--json")
    assert result.exit_code == 0, result.output
    return page.read_text(), result.stdout


def test_nothing_that_is_written_holds_an_id_or_a_content_of_the_capture(
    written: tuple[str, str],
) -> None:
    private = set(UUID.findall(STORY.read_text()))
    for line in STORY.read_text().splitlines():
        private |= {text for text in _texts(line) if re.search(r"@|\+?\d{6,}", text)}
    assert len(private) > 50
    for text in written:
        assert [one for one in private if one in text] == []


def _texts(line: str) -> list[str]:
    found: list[str] = []

    def collect(value: Any) -> None:
        if isinstance(value, dict | list):
            for inner in value.values() if isinstance(value, dict) else value:
                collect(inner)
        elif isinstance(value, str) and not value.startswith(("v2.", "20")):
            found.append(value)

    with contextlib.suppress(ValueError):
        collect(json.loads(line))
    return found


def test_ids_are_shown_where_they_are_asked_for_and_are_other_hashes_each_time() -> None:
    shown = once(STORY, "--json", "--with-ids").stdout
    assert set(UUID.findall(shown)) <= set(UUID.findall(STORY.read_text()))
    assert UUID.search(shown)
    assert once(STORY, "--json").stdout != once(STORY, "--json").stdout


def test_the_page_loads_nothing_and_serves_paper_phone_light_and_dark(
    written: tuple[str, str],
) -> None:
    page = written[0]
    assert re.findall(r"<script|<link|<img|<iframe|https?:|url\(|@import|\son\w+=", page) == []
    for need in ("prefers-color-scheme: dark", "@media print", "max-width: 52rem", "<svg"):
        assert need in page


def test_a_hostile_name_does_not_get_into_the_page_as_markup(tmp_path: Path) -> None:
    event = {"source": "a/<b>x</b>", "detail-type": "<script>", "detail": {"conversationId": "c"}}
    event["detail"] |= {"status": "<img>", "time": START_MS}  # type: ignore[operator]
    path, page = tmp_path / "<i>.jsonl", tmp_path / "page.html"
    path.write_text(lines([event, event, event]))
    assert once(path, "--html", page, "--with-ids").exit_code == 0
    assert re.findall(r"<b>x|<script|<img|<i>\.", page.read_text()) == []


@pytest.mark.parametrize(
    "odd",
    [
        {"messageId": "m", "outcome": "PROCESSED", "occurredAtMs": 10**21},
        {"messageId": "m", "outcome": "PROCESSED", "occurredAtMs": -5},
        {"timestamp": 1, "message": "{}"},
    ],
)
def test_a_time_that_is_none_spoils_no_report(odd: dict[str, Any], tmp_path: Path) -> None:
    event = Centre(8).conversation("attributes", START_MS)
    if "message" in odd:
        odd = {**odd, "message": json.dumps(event)}
    path = tmp_path / "capture"
    path.write_text(lines([event, odd]))
    result = once(path, "--html", tmp_path / "audit.html")
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"+4915112345678 Jane.jsonl", "*.jsonl"),
        (b"2025-10-09-08.jsonl", "2025-10-09-08.jsonl"),
        (b"caf\xe9.jsonl", "caf?.jsonl"),
    ],
)
def test_a_name_of_a_file_that_is_somebodys_or_no_text_is_not_shown(
    tmp_path: Path, name: bytes, shown: str
) -> None:
    folder = tmp_path / "capture"
    folder.mkdir()
    for one in (name, b"other"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + one)).write_text(
            lines([Centre(1).presence("u", "BUSY", START_MS)])
        )
    page = tmp_path / "page.html"
    result = once(folder, "--json", "--html", page)
    assert result.exit_code == 0, result.output
    assert shown in {file["name"] for file in json.loads(result.stdout)["files"]}
    assert "Jane" not in page.read_text() + result.stdout


def test_late_events_are_named_with_the_newer_one(tmp_path: Path) -> None:
    centre = Centre(12)
    user = centre.id()
    at = START_MS
    sent = [(at, centre.presence(user, "BUSY", at)), (at, centre.presence(user, "AWAY", at - 900))]
    path = tmp_path / "capture"
    report = arriving(path, sent)
    assert report.late_examples == [f"line 2, after line 1 (user {user})"]
    said = " ".join(once(path, "--with-ids").stdout.split())
    assert f"Late, for example: {report.late_examples[0]}." in said


def test_a_capture_with_custom_events_is_not_told_to_filter_them_out() -> None:
    said = json.loads(once(STORY, "--json").stdout)
    assert not {"DetailTypes", "SourcePrefix"} & set(said["plan"]["parameters"])
    assert any("custom events" in line and "rule of your own" in line for line in said["advice"])


def test_the_parameters_to_deploy_with_are_those_of_the_template(tmp_path: Path) -> None:
    story = STORY.read_text().splitlines()
    events = [line for line in story if re.search(r'"detail-type": ?"v2\.', line)]
    path = tmp_path / "capture"
    path.write_text("\n".join(events))
    parameters = json.loads(once(path, "--json").stdout)["plan"]["parameters"]
    assert {"ActionTarget", "DetailTypes"} <= set(parameters)
    for name in parameters:
        assert f"\n  {name}:\n    Type:" in (ROOT / "template.yaml").read_text()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"hello\nworld\n", "2 records and no event"),
        (b'{"a": 1}\n', "1 record and no event"),
        (b"\x89PNG\0\0", "is no text"),
        (b"\x1f\x8bnonsense", "could not be read to its end"),
    ],
)
def test_a_file_that_is_no_capture_ends_in_a_sentence(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    result = once(path)
    assert result.exit_code == 1
    assert said in result.output
    assert "docs/audit.md" in result.output


def test_neither_a_capture_nor_a_stack_is_said_to_be_missing() -> None:
    result = once()
    assert result.exit_code == 1
    assert "Give files or folders" in result.output


def test_the_busiest_minute_counts_what_came_out_of_order(tmp_path: Path) -> None:
    centre = Centre(9)
    events = [(START_MS, centre.conversation("acw", START_MS + at)) for at in range(5)]
    ahead = START_MS + 3_600_000, centre.conversation("acw", START_MS)
    plan = arriving(tmp_path / "capture", [events[0], ahead, *events[1:]]).plan
    assert plan is not None
    assert (plan.peak_per_minute, plan.acts_per_minute) == (5, 5)


def test_one_event_from_the_far_future_does_not_move_the_clock(tmp_path: Path) -> None:
    centre = Centre(10)
    published = (0, 300 * DAY_MS, DAY_MS, 41 * DAY_MS, 41 * DAY_MS + 60_000)
    path = tmp_path / "capture"
    path.write_text(lines([centre.conversation("acw", START_MS + at) for at in published]))
    report = audited(path)
    assert report.seconds == (41 * DAY_MS + 60_000) / 1000


def at(event: Event, ms: int) -> Event:
    """Returns a state as it is published at a time."""
    event["detail"]["timestamp"] = iso(START_MS + ms)
    return event


CALLS = ({}, {"muted": True}, {}, {"muted": True}, {"held": True}, {})


def test_state_that_returns_is_acted_on_each_time_and_an_unchanged_repeat_never(
    tmp_path: Path,
) -> None:
    sent = []
    for number, call in enumerate(CALLS):
        for ms in (number * 60_000 + 123, number * 60_000 + 30_123):
            sent.append((START_MS + ms, at(snapshot(agent(**call)), ms)))
    report = arriving(tmp_path / "capture", sent)
    assert report.outcomes == {"PROCESSED": 6, "DUPLICATE": 6}
    assert (report.copies, report.unchanged) == (0, 6)
    assert report.conclusions[0] == (
        "None of 12 records is a copy; 6 unchanged. 6 are events to act on."
    )


def test_fields_that_alone_told_states_apart_are_named_and_ignored_ones_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = []
    for number in range(5):
        state = snapshot(agent() | {"attributes": {"Jane": str(number)}})
        sent.append((START_MS + number, at(state, number * 60_000)))
    report = arriving(tmp_path / "capture", sent)
    (candidate,) = report.candidates
    assert (candidate.fields, candidate.count) == (["participants.*.attributes"], 4)
    assert any("differ from the one before only in" in line for line in report.conclusions)
    assert any("ignored.toml" in line for line in report.advice)

    monkeypatch.setitem(ignored.IGNORED, candidate.family, candidate.fields)
    ignored.paths_of.cache_clear()
    try:
        again = arriving(tmp_path / "capture", sent)
    finally:
        monkeypatch.undo()
        ignored.paths_of.cache_clear()
    assert (again.outcomes, again.candidates) == ({"PROCESSED": 1, "DUPLICATE": 4}, [])


def test_capture_without_copies_says_so_first_with_what_it_did_find(tmp_path: Path) -> None:
    centre = Centre(14)
    user = centre.id()
    newer, older = (centre.presence(user, s, START_MS + at) for s, at in (("B", 9_000), ("A", 0)))
    path = tmp_path / "capture"
    path.write_text(lines([logged(newer), logged(older), logged({"broken": True})]))
    report = audited(path)
    assert report.conclusions[0] == (
        "None of 3 records is a copy; 1 stale, 1 unreadable. "
        "1 is an event to act on. 1 record is late, by up to 9 s."
    )
    assert once(path).stdout.startswith(report.conclusions[0][:40])


def test_routes_tell_what_is_ignored(tmp_path: Path) -> None:
    centre = Centre(15)
    calls = [centre.conversation("acd.start", START_MS + at) for at in (0, 100)]
    old, other = centre.conversation("acd.end", START_MS), centre.conversation("acw", START_MS)
    sent = [(START_MS + 1_000, one) for one in (*calls, calls[0], other)]
    sent.append((START_MS + 61_000, old))
    routes = tmp_path / "routes.toml"
    routes.write_text(
        '[[routes]]\nfamily = "conversation.acd.start"\naction = "none"\n'
        '[[routes]]\nfamily = "conversation.acd.end"\nmax_age = "1m"\naction = "send"\n'
        '[[routes]]\nfamily = "*"\naction = "none"\n'
    )
    path = tmp_path / "capture"
    arriving(path, sent)
    report = audited(path, routes=routes)
    assert report.outcomes == {"IGNORED": 4, "DUPLICATE": 1}
    assert report.ignored == {"ROUTE_IS_NONE": 2, "EXPIRED": 1, "NO_ROUTE_MATCHED": 1}
    said = json.loads(once(path, "--routes", routes, "--json").stdout)
    assert said["outcomes"] == report.outcomes


def test_message_that_the_queue_handed_out_twice_is_a_copy_and_one_act(tmp_path: Path) -> None:
    event = json.dumps(Centre(16).conversation("acw", START_MS))
    record = {"messageId": "m", "body": event, "attributes": {"SentTimestamp": str(START_MS + 9)}}
    path = tmp_path / "capture"
    path.write_text(lines([record, record]))
    report = audited(path)
    assert kinds(report) == {"queue": 1}
    assert report.conclusions[0].endswith("(50 %). 1 is an event to act on.")
