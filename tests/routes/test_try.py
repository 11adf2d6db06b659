"""`once routes try` says for which events of a capture each route acts, with one file or two."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands.conftest import once
from tests.enrichment.examples import agent, conversation, presence, snapshot

ROUTES = """
[[routes]]
name = "ends"
family = "conversation.customer.end"
when.body.mediaType = ["VOICE"]
max_age = "2m"
action = "custom_-_a"
[[routes]]
family = "user.*"
action = "custom_-_b"
[[routes]]
family = "*"
action = "none"
"""
HOUR_MS = 3_600_000


def received(event: Any, message_id: str, sent_ms: int) -> dict[str, Any]:
    body = event if isinstance(event, str) else json.dumps(event)
    attributes = {"SentTimestamp": str(sent_ms)}
    return {"MessageId": message_id, "Body": body, "Attributes": attributes}


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """Three calls that ended, one of them long before it arrived, a chat, a presence, a text and a
    canary, which is no event."""
    end = conversation("customer.end")
    ended_ms = end["detail"]["eventBody"]["eventTime"]
    soon_ms = ended_ms + 1_000
    messages = [
        received(end, "1", soon_ms),
        received(conversation("customer.end", sessionId="3"), "2", soon_ms),
        received(conversation("customer.end", sessionId="4"), "3", ended_ms + HOUR_MS),
        received(conversation("customer.end", mediaType="CHAT", sessionId="2"), "4", soon_ms),
        received(presence(), "5", ended_ms + HOUR_MS),
        received(end, "6", soon_ms),
        received("no event", "7", soon_ms),
        received({"once": {"canary": True}, "event": json.dumps(end)}, "8", soon_ms),
    ]
    path = tmp_path / "capture.json"
    path.write_text(json.dumps({"Messages": messages}))
    return path


def tried(capture: Path, routes: str = ROUTES, other: str = "") -> dict[str, Any]:
    file, against = capture.with_name("routes.toml"), capture.with_name("other.toml")
    file.write_text(routes)
    against.write_text(other)
    options = ("--against", str(against)) if other else ()
    answer = once("routes", "try", str(capture), "--routes", str(file), *options, "--json")
    assert answer.code == 0, answer.out
    found: dict[str, Any] = answer.json
    return found


def test_each_route_says_what_it_takes_and_for_what_it_acts(capture: Path) -> None:
    answer = tried(capture)
    counts = [(r["name"], r["events"], r["acted"], r["expired"]) for r in answer["routes"]]
    assert counts == [("ends", 4, 2, 1), ("user.*", 1, 1, 0), ("*", 1, 0, 0)]
    assert (answer["events"], answer["unreadable"], answer["undated"]) == (6, 1, 0)
    shown = once("routes", "try", str(capture), "--routes", str(capture.with_name("routes.toml")))
    row = ["ends", "custom_-_a", "4", "2", "1"]
    assert any(line.split() == row for line in shown.out.splitlines())


def test_age_is_not_judged_without_a_time_of_arrival(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps(conversation("customer.end")))
    answer = tried(path)
    assert (answer["undated"], answer["routes"][0]["expired"]) == (1, 0)


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ('"custom_-_a"', '"custom_-_c"', {("custom_-_a", "custom_-_c"): 2}),
        ('"2m"', '"2h"', {("EXPIRED", "custom_-_a"): 1}),
        ('"2m"', '"3m"', {}),
        ('"ends"', '"other"', {}),
        ('["VOICE"]', '["CHAT"]', {
            ("custom_-_a", "NO_ROUTE_MATCHED"): 2,
            ("SAME_KEY", "NO_ROUTE_MATCHED"): 1,
            ("EXPIRED", "NO_ROUTE_MATCHED"): 1,
            ("NO_ROUTE_MATCHED", "custom_-_a"): 1,
        }),
        ('"custom_-_b"', '"custom_-_b"\ninputs = { k = "state" }',
         {("custom_-_b", "custom_-_b with other inputs"): 1}),
    ],
    ids=["action", "age", "no matter", "name", "condition", "inputs"],
)  # fmt: skip
def test_events_that_end_otherwise_with_another_file_are_counted(
    capture: Path, old: str, new: str, changes: dict[tuple[str, str], int]
) -> None:
    found = tried(capture, ROUTES, ROUTES.replace(old, new))["changes"]
    assert {(one["before"], one["after"]): one["events"] for one in found} == changes
    assert all("/v2/" in one["examples"][0] for one in found)


def test_events_that_have_no_fact_of_their_route_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(json.dumps(snapshot(agent(state="alerting"))))
    route = '[[routes]]\nfamily = "*"\naction = "send"\nfacts = ["participants.*.calls.*.{}"]\n'
    taken = [tried(path, route.format(name))["routes"][0] for name in ("state", "stat")]
    assert [route["withoutFacts"] for route in taken] == [0, 1]


def test_faulty_file_and_capture_without_an_event_are_refused(
    capture: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.toml").write_text('[[routes]]\nfamily = "*"\n')
    assert once("routes", "try", str(capture), "--routes", str(tmp_path / "bad.toml")).code == 1
    for text in ('{"no": "event"}', ""):
        (tmp_path / "empty.jsonl").write_text(text)
        assert once("routes", "try", str(tmp_path / "empty.jsonl")).code == 1
