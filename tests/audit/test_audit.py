"""The audit reports the known answers of prepared captures."""

import gzip
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
from once_enrichment.routes import parse_routes

from bench.events import START_MS, Centre, Event
from once.audit.advice import add_advice
from once.audit.capture import audit
from once.audit.entries import Shown
from once.audit.report import AuditReport
from once.lines import find_sources
from once.project import EXAMPLE
from tests.audit.test_lines import lines
from tests.commands.conftest import once
from tests.enrichment.examples import agent, snapshot

ROOT = Path(__file__).parents[2]
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
DAY_MS = 86_400_000
SEND_ALL = '[[routes]]\nfamily = "*"\naction = "send"\n'


def audited(*paths: Path, routes: str = SEND_ALL) -> AuditReport:
    sources, shown = find_sources(paths), Shown(with_ids=True)
    tally = audit(sources, parse_routes("routes", routes), shown, lambda _: None)
    report = tally.make_report(sources)
    add_advice(report, tally)
    return report


def arriving(path: Path, events: list[tuple[int, Event]], routes: str = SEND_ALL) -> AuditReport:
    """Audits events, each with the time at which a log group got it."""
    path.write_text(lines([{"timestamp": ms, "message": json.dumps(e)} for ms, e in events]))
    return audited(path, routes=routes)


def kinds(report: AuditReport) -> dict[str, int]:
    return {kind.kind: kind.count for kind in report.copy_kinds}


def published_at(event: Event, ms: int) -> Event:
    """Returns a state as it is published at a time."""
    event["detail"]["timestamp"] = START_MS + ms
    return event


def test_example_story_gives_what_a_run_of_it_gives() -> None:
    expected = json.loads(EXAMPLE.with_name("story.expected.json").read_text())
    answer = once("audit", str(EXAMPLE), "--json").json
    assert answer["received"] == len(expected)
    assert answer["outcomes"] == Counter(line["outcome"] for line in expected)


def test_two_integrations_are_named_with_what_to_deploy(tmp_path: Path) -> None:
    centre = Centre(1)
    sent = []
    for number in range(10):
        ms = START_MS + number * 10_000
        event = centre.conversation("customer.end", ms)
        sent += [(ms, event), (ms + 70, centre.published_again(event, 30, "reporting"))]
    report = arriving(tmp_path / "capture", sent)
    assert report.outcomes == {"PROCESSED": 10, "DUPLICATE": 10}
    assert kinds(report) == {"integration": 10}
    names = ("envelope id", "source", "CorrelationId", "publication time")
    assert report.differences == dict.fromkeys(names, 10)
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
    report = arriving(tmp_path / "capture", [(START_MS + ms, one) for ms, one in came])
    longest = {kind.kind: kind.longest_ms for kind in report.copy_kinds}
    assert longest == {"envelope": 3, "published": 40, "integration": 400_000}


def test_integrations_are_told_apart_though_their_names_are_hidden(tmp_path: Path) -> None:
    event = Centre(11).conversation("customer.end", START_MS)
    organisation = event["source"].rpartition("/")[0]
    names = ["events-2024", "wallboard-2025"]
    path = tmp_path / "capture"
    path.write_text(lines([{**event, "source": f"{organisation}/{name}"} for name in names]))
    answer = once("audit", str(path), "--json").json
    assert [source["name"] for source in answer["sources"]] == ["*", "* 2"]
    assert answer["onlyCopies"][0]["source"] == "* 2"
    assert [source.name for source in audited(path).sources] == names


def test_custom_events_without_a_time_are_copies_within_their_window(tmp_path: Path) -> None:
    def event(state: str) -> Event:
        return {"source": "my.app", "detail": {"conversation_id": "c-1", "status": state}}

    came = (0, "ringing"), (100, "ringing"), (59_000, "ringing"), (61_000, "ringing"), (90_000, "x")
    report = arriving(tmp_path / "c", [(START_MS + ms, event(state)) for ms, state in came])
    assert report.outcomes == {"PROCESSED": 3, "DUPLICATE": 2}
    assert kinds(report) == {"custom": 2}
    assert [(window.window_ms, window.count) for window in report.windows] == [(60_000, 5)]


def test_late_copies_and_older_states_are_told_apart(tmp_path: Path) -> None:
    centre = Centre(3)
    user = centre.id()
    busy, away = (
        centre.presence(user, state, START_MS + ms) for state, ms in (("BUSY", 0), ("AWAY", 5_000))
    )
    call = centre.conversation("acd.start", START_MS)
    times = (5_100, away), (5_200, busy), (5_300, call), (405_300, call), (31 * DAY_MS, call)
    report = arriving(tmp_path / "capture", [(START_MS + ms, event) for ms, event in times])
    # After 31 days nobody remembers: said openly, and counted as an act.
    assert report.outcomes == {"PROCESSED": 3, "DUPLICATE": 1, "STALE": 1}
    assert (report.late, report.longest_late_ms) == (1, 5_000)
    assert report.distances is not None
    assert report.distances.counts["to 1 h"] == 1


def test_stale_state_names_the_state_that_passed_it(tmp_path: Path) -> None:
    centre = Centre(12)
    user = centre.id()
    sent = [(START_MS, centre.presence(user, "BUSY", START_MS))]
    sent.append((START_MS, centre.presence(user, "AWAY", START_MS - 900)))
    [passed] = arriving(tmp_path / "capture", sent).passed
    assert (passed.family, passed.count, passed.every_would_act) == ("user.presence", 1, True)
    assert passed.examples == [f"line 2, passed by line 1 (user {user})"]
    every = '[[routes]]\nfamily = "user.presence"\norder = "every"\naction = "send"\n'
    report = arriving(tmp_path / "capture", sent, every + SEND_ALL)
    assert (report.acted, report.passed) == (2, [])


def test_facts_are_proposed_from_what_changed_alone(tmp_path: Path) -> None:
    sent = []
    for number in range(8):
        state = "connected" if number < 5 else "disconnected"
        event = snapshot(agent(state=state) | {"attributes": {"Jane": str(number)}})
        sent.append((START_MS + number * 60_000 + 9, published_at(event, number * 60_000)))
    [proposed] = arriving(tmp_path / "capture", sent).facts
    assert not proposed.is_in_use
    assert "participants.*.calls.*.state" in proposed.facts
    assert (proposed.acts_without, proposed.acts_with) == (8, 2)
    assert proposed.changed_alone["participants.*.attributes"] == 6
    route = (
        f'[[routes]]\nfamily = "user.*"\nfacts = {json.dumps(proposed.facts)}\naction = "send"\n'
    )
    report = arriving(tmp_path / "capture", sent, route + SEND_ALL)
    [used] = report.facts
    assert (used.is_in_use, used.acts_without, used.acts_with) == (True, 8, 2)
    assert (report.acted, report.unchanged, report.copies) == (2, 6, 0)


def test_routes_decide_what_is_ignored(tmp_path: Path) -> None:
    centre = Centre(15)
    steps = [centre.conversation(step, START_MS) for step in ("acd.start", "acd.end", "acw")]
    sent = [(START_MS + 61_000, event) for event in (*steps, steps[0])]
    routes = (
        '[[routes]]\nfamily = "conversation.acd.start"\naction = "none"\n'
        '[[routes]]\nfamily = "conversation.acd.end"\nmax_age = "1m"\naction = "send"\n'
        '[[routes]]\nfamily = "*"\naction = "none"\n'
    )
    arriving(tmp_path / "capture", sent)
    (tmp_path / "routes.toml").write_text(routes)
    options = ("--routes", str(tmp_path / "routes.toml"), "--json")
    answer = once("audit", str(tmp_path / "capture"), *options).json
    assert answer["outcomes"] == {"IGNORED": 4}
    assert answer["ignored"] == {"ROUTE_IS_NONE": 2, "EXPIRED": 1, "NO_ROUTE_MATCHED": 1}


def test_message_that_the_queue_delivered_twice_is_a_copy(tmp_path: Path) -> None:
    event = json.dumps(Centre(16).conversation("acw", START_MS))
    record = {"messageId": "m", "body": event, "attributes": {"SentTimestamp": str(START_MS + 9)}}
    (tmp_path / "capture").write_text(lines([record, record]))
    report = audited(tmp_path / "capture")
    assert (kinds(report), report.acted) == ({"queue": 1}, 1)


def test_canary_is_no_event(tmp_path: Path) -> None:
    event = Centre(16).conversation("acw", START_MS)
    canary = {"once": {"canary": True}, "event": json.dumps(event)}
    (tmp_path / "capture").write_text(lines([canary, event]))
    report = audited(tmp_path / "capture")
    assert (report.received, report.acted, report.broken) == (1, 1, [])


def test_exported_log_group_is_read_in_the_order_of_arrival(tmp_path: Path) -> None:
    centre = Centre(5)
    user = centre.id()
    files: dict[str, list[Any]] = {"a/0.gz": [], "b/0.gz": [], "b/1.gz": []}
    for number in range(60):
        ms = START_MS + number * 60_000
        event = centre.presence(user, ("BUSY", "AWAY")[number % 2], ms)
        name = "a/0.gz" if number % 2 else f"b/{number // 30}.gz"
        files[name].append({"timestamp": ms, "message": json.dumps(event)})
    for name, records in files.items():
        path = tmp_path / "export" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(lines(records).encode()))
    report = audited(tmp_path / "export")
    assert (report.outcomes, report.late) == ({"PROCESSED": 60}, 0)
    assert [file.name for file in report.files] == list(files)


def test_places_are_told_by_file_line_and_record(tmp_path: Path) -> None:
    event = Centre(5).conversation("customer.start", START_MS)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "000000").write_text(lines([event]))
    [kind] = audited(tmp_path).copy_kinds
    assert kind.examples[0].startswith("two/000000 line 1, first in one/000000 line 1 (")
    (tmp_path / "array").write_text(json.dumps([event, event]))
    [kind] = audited(tmp_path / "array").copy_kinds
    assert kind.examples[0].startswith("line 1, record 2, first in line 1 (conversation")


def test_cut_line_spoils_no_other_and_is_named(tmp_path: Path) -> None:
    centre = Centre(5)
    whole = [json.dumps(centre.conversation("acw", START_MS + ms)) for ms in (0, 9)]
    path = tmp_path / "capture"
    path.write_text("\n".join([whole[0][:300], whole[0], "no JSON", whole[1], whole[0][:400]]))
    report = audited(path)
    assert report.outcomes == {"PROCESSED": 2, "PARKED": 3}
    [broken] = report.broken
    assert (broken.reason, broken.examples) == ("NOT_JSON", ["line 1", "line 3", "line 5"])


def test_key_that_fell_back_has_a_note(tmp_path: Path) -> None:
    event = Centre(4).conversation("acd.start", START_MS)
    del event["detail"]["eventBody"]["sessionId"]
    [note] = arriving(tmp_path / "capture", [(START_MS, event)]).notes
    assert ("sessionId" in note.note, note.examples) == (True, ["line 1"])


def test_busiest_minute_counts_what_came_out_of_order(tmp_path: Path) -> None:
    centre = Centre(9)
    events = [(START_MS, centre.conversation("acw", START_MS + ms)) for ms in range(5)]
    ahead = START_MS + 3_600_000, centre.conversation("acw", START_MS)
    plan = arriving(tmp_path / "capture", [events[0], ahead, *events[1:]]).plan
    assert plan is not None
    assert plan.acts_per_minute == 5


def test_event_from_the_far_future_does_not_move_the_clock(tmp_path: Path) -> None:
    centre = Centre(10)
    published = (0, 300 * DAY_MS, DAY_MS, 41 * DAY_MS, 41 * DAY_MS + 60_000)
    (tmp_path / "c").write_text(
        lines([centre.conversation("acw", START_MS + n) for n in published])
    )
    assert audited(tmp_path / "c").seconds == (41 * DAY_MS + 60_000) / 1000


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_no_value_in_any_field_ends_an_audit(data: st.DataObject) -> None:
    event = json.loads(data.draw(st.sampled_from(EXAMPLE.read_text().splitlines()[:30])))
    logged = {"timestamp": START_MS, "message": json.dumps(event)}
    record = data.draw(st.sampled_from([event, {"messageId": "m", "body": event}, logged]))
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
    answer = once("audit", str(EXAMPLE), "--html", str(page), "--json")
    assert answer.code == 0, answer.err
    return page.read_text(), answer.out


def test_report_holds_no_id_and_no_content_of_the_capture(written: tuple[str, str]) -> None:
    story = EXAMPLE.read_text()
    values = re.findall(r'": ?"((?!v2\.|20)[^"]*(?:@|\d{6})[^"]*)"', story)
    private = {*UUID.findall(story), *values}
    assert len(private) > 50
    for text in written:
        assert [one for one in private if one in text] == []


def test_ids_are_shown_if_asked_for_and_are_other_hashes_each_time() -> None:
    shown = once("audit", str(EXAMPLE), "--json", "--with-ids").out
    assert set(UUID.findall(shown)) <= set(UUID.findall(EXAMPLE.read_text()))
    assert UUID.search(shown)
    assert once("audit", str(EXAMPLE), "--json").out != once("audit", str(EXAMPLE), "--json").out


def test_page_loads_nothing_and_serves_paper_phone_light_and_dark(written: tuple[str, str]) -> None:
    page = written[0]
    assert re.findall(r"<script|<link|<img|<iframe|https?:|url\(|@import|\son\w+=", page) == []
    for need in ("prefers-color-scheme: dark", "@media print", "max-width: 52rem", "<svg"):
        assert need in page


def test_hostile_name_is_escaped_in_the_page(tmp_path: Path) -> None:
    detail = {"conversationId": "c", "status": "<img>", "time": START_MS}
    event = {"source": "a/<b>x</b>", "detail-type": "<script>", "detail": detail}
    path, page = tmp_path / "<i>.jsonl", tmp_path / "page.html"
    path.write_text(lines([event, event, event]))
    assert once("audit", str(path), "--html", str(page), "--with-ids").code == 0
    assert re.findall(r"<b>x|<script|<img|<i>\.", page.read_text()) == []


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (b"+4915112345678 Jane.jsonl", "*.jsonl"),
        (b"2025-10-09-08.jsonl", "2025-10-09-08.jsonl"),
        (b"caf\xe9.jsonl", "caf?.jsonl"),
    ],
)
def test_file_name_that_may_be_a_persons_is_hidden(tmp_path: Path, name: bytes, shown: str) -> None:
    for file in (name, b"other"):
        path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + file))
        path.write_text(lines([Centre(1).presence("u", "BUSY", START_MS)]))
    answer = once("audit", str(tmp_path), "--json")
    assert shown in {file["name"] for file in answer.json["files"]}
    assert "Jane" not in answer.out


def test_parameters_to_deploy_with_are_those_of_the_template(tmp_path: Path) -> None:
    story = EXAMPLE.read_text().splitlines()
    genesys = [line for line in story if re.search(r'"detail-type": ?"v2\.', line)]
    (tmp_path / "capture").write_text("\n".join(genesys))
    parameters = once("audit", str(tmp_path / "capture"), "--json").json["plan"]["parameters"]
    assert {"ActionTarget", "DetailTypes"} <= set(parameters)
    for name in parameters:
        assert f"\n  {name}:\n    Type:" in (ROOT / "template.yaml").read_text()
    whole = once("audit", str(EXAMPLE), "--json").json["plan"]["parameters"]
    assert not {"DetailTypes", "SourcePrefix"} & set(whole)  # it has custom events, too


@pytest.mark.parametrize(
    "content", [b"", b"hello\nworld\n", b'{"a": 1}\n', b"\x89PNG\0\0", b"\x1f\x8bnonsense"]
)
def test_file_that_is_no_capture_is_refused_with_its_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    answer = once("audit", str(tmp_path / "file"))
    assert (answer.code, "docs/audit.md" in answer.err) == (1, True)
    assert once("audit").code == 1


def test_copy_of_a_state_by_another_clock_has_copies_of_its_own(tmp_path: Path) -> None:
    """Two integrations publish a burst by two clocks, and the second of them twice."""
    held, talking = {"held": True}, dict[str, Any]()
    burst = ((held, 0), (talking, 300), (held, 200), (held, 200))
    sent = [
        (START_MS + number, published_at(snapshot(agent(**call)), ms))
        for number, (call, ms) in enumerate(burst)
    ]
    report = arriving(tmp_path / "capture", sent)
    assert report.outcomes == {"PROCESSED": 2, "DUPLICATE": 2}
    assert report.copies == 2
