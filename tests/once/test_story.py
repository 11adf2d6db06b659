"""The example stream that ships is what its script writes, and holds the situations it promises."""

import json
from collections import Counter
from typing import Any

from proof.story import FOLDER, files, morning

WRITTEN = files()
LINES = WRITTEN["story.jsonl"].splitlines()
EXPECTED: list[dict[str, Any]] = json.loads(WRITTEN["story.expected.json"])
OUTCOMES = [entry["outcome"] for entry in EXPECTED]


def test_the_files_are_what_the_script_writes() -> None:
    for name, content in WRITTEN.items():
        assert (FOLDER / name).read_text() == content, "run python -m proof.story"


def test_every_line_has_its_expectation() -> None:
    assert len(EXPECTED) == len(LINES) == len(morning().lines)
    assert Counter(OUTCOMES) == {"PROCESSED": 37, "DUPLICATE": 18, "STALE": 2, "PARKED": 1}


def test_each_happening_acts_once_unless_it_is_told_too_late_or_broken() -> None:
    acts = Counter(e["happening"] for e in EXPECTED if e["outcome"] == "PROCESSED")
    assert set(acts.values()) == {1}
    never = [e["outcome"] for e in EXPECTED if e["happening"] not in acts]
    assert sorted(never) == ["PARKED", "STALE", "STALE"]


def test_some_copies_are_exact_and_some_come_under_another_event_id() -> None:
    exact = [line for line, count in Counter(LINES).items() if count > 1]
    assert len(exact) >= 5
    chats = [json.loads(line)["detail"] for line in LINES if "chat-00" in line]
    happenings = [
        e["happening"] for e, line in zip(EXPECTED, LINES, strict=True) if "chat-00" in line
    ]
    renumbered = [
        happening
        for happening in set(happenings)
        if len({c["event_id"] for c, h in zip(chats, happenings, strict=True) if h == happening})
        > 1
    ]
    assert len(renumbered) >= 4


def test_two_states_share_a_millisecond_and_both_act() -> None:
    times = Counter(
        (body["conversationId"], body["eventTime"])
        for line, outcome in zip(LINES, OUTCOMES, strict=True)
        if outcome == "PROCESSED"
        and "eventTime" in (body := json.loads(line)["detail"].get("eventBody", {}))
    )
    assert 2 in times.values()


def test_the_destination_limits_twice_and_fails_once() -> None:
    (rule,) = json.loads(WRITTEN["story.destination.json"])["rules"]
    assert [r["status"] if isinstance(r, dict) else r for r in rule["replies"]] == [429, 500]
