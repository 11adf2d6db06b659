"""`once routes try` says which events of a capture each route takes, and what a change changes."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.enrichment.examples import conversation, presence
from tests.enrichment.sending import record
from tests.operate.conftest import once

ROUTES = """
[[routes]]
name = "ends"
family = "conversation.customer.end"
when.body.mediaType = ["VOICE"]
max_age = "2m"
action = "a"
[[routes]]
family = "user.*"
action = "b"
[[routes]]
family = "*"
action = "none"
"""
HOUR_MS = 3_600_000


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """Three calls that ended, one of them long before it arrived, a chat, a presence and a text."""
    end = conversation("customer.end")
    at_ms = end["detail"]["eventBody"]["eventTime"]
    chat = conversation("customer.end", mediaType="CHAT", sessionId="2")
    records = [
        record(end, "1", at_ms + 1_000),
        record(conversation("customer.end", sessionId="3"), "2", at_ms + 1_000),
        record(conversation("customer.end", sessionId="4"), "3", at_ms + HOUR_MS),
        record(chat, "4", at_ms + 1_000),
        record(presence(), "5"),
        record("no event", "6"),
    ]
    path = tmp_path / "capture.json"
    path.write_text(json.dumps({"Messages": records}))
    return path


def tried(capture: Path, tmp_path: Path, routes: str = ROUTES, *options: str) -> dict[str, Any]:
    file = tmp_path / "routes.toml"
    file.write_text(routes)
    answer = once("routes", "try", str(capture), "--routes", str(file), *options, "--json")
    assert answer.code == 0, answer.out
    found: dict[str, Any] = json.loads(answer.out)
    return found


def test_each_route_says_what_it_takes_and_what_came_too_late(
    capture: Path, tmp_path: Path
) -> None:
    answer = tried(capture, tmp_path)
    assert answer["routes"] == [
        {"name": "ends", "action": "a", "events": 3, "expired": 1},
        {"name": "user.*", "action": "b", "events": 1, "expired": 0},
        {"name": "*", "action": "none", "events": 1, "expired": 0},
    ]
    assert (answer["events"], answer["unreadable"], answer["undated"]) == (5, 1, 0)


def test_age_is_not_judged_without_a_time_of_arrival(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps(conversation("customer.end")))
    answer = tried(path, tmp_path)
    assert answer["undated"] == 1
    assert answer["routes"][0]["expired"] == 0


def test_events_that_another_file_treats_otherwise_are_counted(
    capture: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.toml"
    other.write_text(
        ROUTES.replace('"a"', '"c"').replace('"2m"', '"2h"').replace('["VOICE"]', '["CHAT"]')
    )
    answer = tried(capture, tmp_path, ROUTES, "--against", str(other))
    changes = {(one["before"], one["after"]): one["events"] for one in answer["changes"]}
    assert changes == {("a", "ignored"): 2, ("expired", "ignored"): 1, ("ignored", "c"): 1}
    assert all("/v1/conversation.customer.end/" in one["examples"][0] for one in answer["changes"])


def test_other_names_and_limits_that_change_nothing_are_no_difference(
    capture: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.toml"
    other.write_text(ROUTES.replace('"ends"', '"other"').replace('"2m"', '"3m"'))
    assert tried(capture, tmp_path, ROUTES, "--against", str(other))["changes"] == []


def test_other_inputs_are_a_difference(capture: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text(ROUTES.replace('action = "b"', 'action = "b"\ninputs = { k = "state" }'))
    (change,) = tried(capture, tmp_path, ROUTES, "--against", str(other))["changes"]
    assert (change["before"], change["after"]) == ("b", "b with other inputs")


def test_result_is_shown_to_a_person(capture: Path, tmp_path: Path) -> None:
    (tmp_path / "routes.toml").write_text(ROUTES)
    said = once("routes", "try", str(capture), "--routes", str(tmp_path / "routes.toml")).out
    assert "Events: 5. Records without an event: 1." in said
    assert any(line.split() == ["ends", "a", "3", "1"] for line in said.splitlines())


def test_faulty_file_is_refused_with_its_line(capture: Path, tmp_path: Path) -> None:
    (tmp_path / "routes.toml").write_text('[[routes]]\nfamily = "*"\n')
    answer = once("routes", "try", str(capture), "--routes", str(tmp_path / "routes.toml"))
    assert answer.code == 1
    assert "line 1: action is" in answer.err


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"no": "event"}', "No event in capture.jsonl. once audit FILE says why"),
        ("", "capture.jsonl holds no record."),
    ],
)
def test_capture_without_an_event_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "capture.jsonl"
    path.write_text(text)
    answer = once("routes", "try", str(path))
    assert (answer.code, answer.out) == (1, "")
    assert says in answer.err
