"""What the audit tells of streams whose answers are known."""

import contextlib
import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from bench.compare.destination import Act
from bench.compare.streams import Stream
from bench.compare.verdict import judge
from bench.events import START_MS, Centre, Event, iso
from once.audit import run as audit_run
from once.audit.advice import duration
from once.audit.capture import Place, Text
from once.audit.clock import Clock
from once.audit.facts import facts
from once.audit.memory import database
from once.audit.report import AuditReport
from once.audit.rivals import RULES, Answer, Read, Rivals
from once.audit.shapes import Shapes
from once.audit.shown import Shown
from once.audit.tally import Tally
from once.cli import app
from tests.audit.test_capture import audited, lines, logged
from tests.audit.test_rivals import ORDERLY, STREAMS

ROOT = Path(__file__).parents[2]
STORY = ROOT / "once" / "examples" / "story.jsonl"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
DAY_MS = 86_400_000


def once(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["audit", *map(str, arguments)])


def arriving(path: Path, events: list[tuple[int, Event]]) -> AuditReport:
    """Of events with the moment at which a log group took each."""
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
    assert any("tell no time at all" in line for line in report.advice)
    # Four of the usual ways cannot read such an event at all, and that is no success of theirs.
    assert {one.letter for one in report.rivals if one.unreadable == 5} == set("bcdf")
    assert not any("no mistake: DynamoDB" in line for line in report.conclusions)


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
    assert (report.out_of_order, report.longest_late_ms) == (1, 5_000)
    assert report.distances is not None
    assert report.distances.counts["to 1 h"] == 1
    late = {one.letter: (one.too_often, one.overwrote) for one in report.rivals}
    assert late["b"] == (0, 1)
    assert late["d"] == (0, 0)
    assert late["i"] == (1, 1)


@pytest.mark.parametrize("name", [name for name in ORDERLY if name != "out of order"])
def test_a_stream_of_the_comparison_gives_the_rivals_figures_of_its_judge(
    tmp_path: Path, name: str
) -> None:
    stream = STREAMS[name]
    messages = sorted(stream.messages, key=lambda message: message.send_ms)
    report = arriving(
        tmp_path / "capture", [(START_MS + one.send_ms, one.event) for one in messages]
    )
    assert report.outcomes["PROCESSED"] == len(stream.happenings)
    assert {one.letter: (one.too_often, one.wrongly_skipped) for one in report.rivals} == (
        _judged(stream)
    )


def _judged(stream: Stream) -> dict[str, tuple[int, int]]:
    acts: dict[str, list[Act]] = {rule.letter: [] for rule in RULES}
    rivals = Rivals({})
    for message in sorted(stream.messages, key=lambda message: message.send_ms):
        answers = rivals.settle(Read.of(message.event), START_MS + message.send_ms)
        for rule, answer in zip(RULES, answers, strict=True):
            if answer == Answer.ACTS:
                acts[rule.letter].append(Act(message.happening, message.happening.at_ms, ""))
    verdicts = {letter: judge(stream, own, set(), set()) for letter, own in acts.items()}
    return {letter: (v.acted_twice, v.wrongly_skipped) for letter, v in verdicts.items()}


def test_a_key_that_fell_back_says_which_field_was_missing(tmp_path: Path) -> None:
    event = Centre(4).conversation("acd.start", START_MS)
    del event["detail"]["eventBody"]["sessionId"]
    (fallback,) = arriving(tmp_path / "capture", [(START_MS, event)]).fallbacks
    assert fallback.note == "missing sessionId: identity is the whole body"
    assert fallback.examples == ["line 1"]


def test_the_outcome_log_of_an_observing_stack_gives_families_copies_and_distances(
    tmp_path: Path,
) -> None:
    first = {"messageId": "m1", "outcome": "PROCESSED", "reason": "OBSERVED", "envelopeId": "e1"}
    again = first | {"messageId": "m2", "outcome": "DUPLICATE", "because": "run#m1"}
    other = again | {"messageId": "m3", "envelopeId": "e2"}
    records = [
        {"timestamp": START_MS + at, "message": json.dumps(record | {"family": "user.presence"})}
        for at, record in ((0, first), (40, again), (2_000, other))
    ]
    metrics = {"timestamp": START_MS, "message": json.dumps({"_aws": {}, "PROCESSED": 1})}
    path = tmp_path / "log"
    path.write_text(lines([*records, metrics]))
    report = audited(path)
    assert (report.of, report.received) == ("outcome log", 3)
    assert report.outcomes == {"PROCESSED": 1, "DUPLICATE": 2}
    assert kinds(report) == {"envelope": 1, "published": 1}
    assert report.distances is not None
    assert report.distances.longest_ms == 2_000
    assert report.families[0].name == "user.presence"


def outcome_log(path: Path, *records: dict[str, Any]) -> AuditReport:
    """Of records as a stack logs them, a second apart."""
    logged = [
        {
            "timestamp": START_MS + at * 1_000,
            "message": json.dumps({"family": "user.presence", "source": "events"} | record),
        }
        for at, record in enumerate(records)
    ]
    path.write_text(lines(logged))
    return audited(path)


def test_a_custom_event_that_looks_like_a_line_of_that_log_is_read_as_one(tmp_path: Path) -> None:
    event = {"messageId": "m", "outcome": "answered", "conversationId": "c", "type": "Call"}
    path = tmp_path / "capture"
    path.write_text(lines([event | {"time": iso(START_MS)}]))
    report = audited(path)
    assert (report.of, report.outcomes) == ("capture", {"PROCESSED": 1})


def test_a_copy_that_is_logged_before_its_winner_has_its_distance(tmp_path: Path) -> None:
    report = outcome_log(
        tmp_path / "log",
        {"messageId": "m2", "outcome": "DUPLICATE", "because": "run#m1", "envelopeId": "e2"},
        {"messageId": "m3", "outcome": "DUPLICATE", "because": "run#gone", "envelopeId": "e3"},
        {"messageId": "m1", "outcome": "PROCESSED", "reason": "OBSERVED", "envelopeId": "e1"},
    )
    assert kinds(report) == {"published": 1, "unknown": 1}
    assert report.distances is not None
    assert report.distances.longest_ms == 2_000


def test_a_message_that_was_handed_back_counts_once(tmp_path: Path) -> None:
    acted = {"messageId": "m1", "outcome": "PROCESSED", "envelopeId": "e1"}
    copy = {"messageId": "m2", "outcome": "DUPLICATE", "because": "run#m1", "envelopeId": "e1"}
    report = outcome_log(
        tmp_path / "log",
        {"messageId": "m2", "outcome": "RETRY", "reason": "HELD"},
        {"messageId": "m2", "outcome": "RETRY", "reason": "HELD"},
        acted,
        copy,
        copy,
        {"messageId": "m3", "outcome": "RETRY", "reason": "RATE_LIMITED"},
    )
    assert report.received == 3
    assert report.outcomes == {"PROCESSED": 1, "DUPLICATE": 1, "RETRY": 1}
    assert kinds(report) == {"envelope": 1}


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
    found = facts([Text(Place(0, 1, 1), json.dumps(record), None)], with_shapes=True).found
    with database() as connection:
        tally = Tally(connection, 30, Shown(with_ids=True))
        tally.add(found)
        assert tally.finish().received == len(found) <= 1


def test_a_long_capture_read_in_several_processes_gives_the_same_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    centre = Centre(6)
    events = [centre.conversation("acw", START_MS + at // 2 * 7) for at in range(1_500)]
    path = tmp_path / "capture"
    path.write_text(lines([*events, *events[:700]]))
    alone = audited(path)
    monkeypatch.setattr(audit_run, "_ALONE_BYTES", 0)
    assert audited(path) == alone
    assert alone.copies == 700


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """Page, JSON and shapes of the story."""
    folder = tmp_path_factory.mktemp("audit")
    page, shape = folder / "audit.html", folder / "shape.json"
    result = once(STORY, "--html", page, "--shape", shape, "--json")
    assert result.exit_code == 0, result.output
    return page.read_text(), result.stdout, shape.read_text()


def test_nothing_that_is_written_holds_an_id_or_a_content_of_the_capture(
    written: tuple[str, str, str],
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
    written: tuple[str, str, str],
) -> None:
    page = written[0]
    assert re.findall(r"<script|<link|<img|<iframe|https?:|url\(|@import|\son\w+=", page) == []
    for need in ("prefers-color-scheme: dark", "@media print", "max-width: 40rem", "<svg"):
        assert need in page


def test_a_hostile_name_does_not_get_into_the_page_as_markup(tmp_path: Path) -> None:
    event = {"source": "a/<b>x</b>", "detail-type": "<script>", "detail": {"conversationId": "c"}}
    event["detail"] |= {"status": "<img>", "time": START_MS}  # type: ignore[operator]
    path, page = tmp_path / "<i>.jsonl", tmp_path / "page.html"
    path.write_text(lines([event, event, event]))
    assert once(path, "--html", page, "--with-ids").exit_code == 0
    assert re.findall(r"<b>x|<script|<img|<i>\.", page.read_text()) == []


def test_the_shape_report_says_fields_and_types_and_nothing_else(
    written: tuple[str, str, str],
) -> None:
    shape = json.loads(written[2])
    assert shape["user.presence"]["modifiedDate"] == {"time": 9}
    assert shape["conversation.customer.start"]["eventTime"] == {"integer": 4}
    types = {"uuid", "time", "text", "integer", "number", "boolean", "null", "array", "object"}
    found = {kind for fields in shape.values() for kinds in fields.values() for kind in kinds}
    assert found <= types


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


def test_the_keys_of_attributes_are_no_part_of_a_shape(tmp_path: Path) -> None:
    event = Centre(8).conversation("attributes", START_MS)
    event["detail"]["eventBody"]["attributes"] = {"Jane Doe": "x", "49 151 5555": "y"}
    path, shape = tmp_path / "capture", tmp_path / "shape.json"
    path.write_text(lines([event] * 3))
    assert once(path, "--shape", shape).exit_code == 0
    assert "attributes.*" in shape.read_text()
    assert "Jane" not in shape.read_text()


def test_names_that_vary_between_events_are_no_part_of_a_shape(tmp_path: Path) -> None:
    names = "Jane", "Ann", "Bob", "Eve", "Joe"
    events = [
        {
            "source": "my.app",
            "time": "2026-01-01T10:00:00Z",
            "detail-type": "Call",
            "detail": {
                "conversationId": "c-1",
                "status": "ended",
                "call": {"length": 3, "customers": {name: {"calls": 1}}},
                name: {"phone": 1},
            },
        }
        for name in names
    ]
    path, shape = tmp_path / "capture", tmp_path / "shape.json"
    path.write_text(lines(events))
    assert once(path, "--shape", shape).exit_code == 0
    (fields,) = json.loads(shape.read_text()).values()
    assert fields["call.length"] == {"integer": 5}
    assert fields["call.customers.*.calls"] == fields["*.phone"] == {"integer": 5}
    assert [name for name in names if name in shape.read_text()] == []


def test_the_shape_of_a_capture_with_other_fields_in_each_event_stays_small() -> None:
    shapes = Shapes()
    for first in range(0, 60_000, 1_000):
        fields = (("call", f"field{at}", "text") for at in range(first, first + 1_000))
        shapes.add(Counter([*fields, ("call", "status", "text")]))
        assert len(shapes) <= 21_000
    assert shapes.written()["call"]["status"] == {"text": 60}


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
    assert f"1 late, e.g. {report.late_examples[0]}" in once(path, "--with-ids").stdout


def test_the_terminal_says_what_the_traffic_costs_and_asks_for() -> None:
    said = once(STORY).stdout
    assert re.search(r"events a month at this rate, for \$[\d,]+ a month on AWS", said)
    assert "The busiest minute has" in said


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
        (b"\xff\xfe{\0}\0", "is no text"),
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


def test_one_event_from_the_far_future_does_not_move_the_clock() -> None:
    clock = Clock()
    day = START_MS + DAY_MS
    assert clock.at(None, START_MS) == START_MS
    assert clock.at(None, START_MS + 300 * DAY_MS) == START_MS
    assert clock.at(None, day) == day
    assert [clock.at(None, day + 40 * DAY_MS + at) for at in (0, 5)] == [day, day + 40 * DAY_MS + 5]
