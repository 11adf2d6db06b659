"""The example stream that ships is what its script writes, and holds the situations it promises."""

import json
from collections import Counter

from proof.story import FOLDER, files, morning

WRITTEN = files()
LINES = WRITTEN["story.jsonl"].splitlines()
EXPECTED = json.loads(WRITTEN["story.expected.json"])


def test_example_files_are_what_the_script_writes() -> None:
    for name, content in WRITTEN.items():
        assert (FOLDER / name).read_text() == content, "run python -m proof.story"


def test_example_expects_an_outcome_of_every_line() -> None:
    outcomes = Counter(line["outcome"] for line in EXPECTED)
    assert len(EXPECTED) == len(LINES) == len(morning().lines)
    assert outcomes == {"PROCESSED": 37, "DUPLICATE": 18, "STALE": 2, "PARKED": 1}


def test_example_acts_once_on_each_happening_unless_it_comes_late_or_broken() -> None:
    acts = Counter(e["happening"] for e in EXPECTED if e["outcome"] == "PROCESSED")
    assert set(acts.values()) == {1}
    others = [e["outcome"] for e in EXPECTED if e["happening"] not in acts]
    assert sorted(others) == ["PARKED", "STALE", "STALE"]


def test_example_has_exact_copies_and_copies_under_another_event_id() -> None:
    assert sum(count > 1 for count in Counter(LINES).values()) >= 5
    ids: dict[str, set[str]] = {}
    for expected, line in zip(EXPECTED, LINES, strict=True):
        if "chat-00" in line:
            event_id = json.loads(line)["detail"]["event_id"]
            ids.setdefault(expected["happening"], set()).add(event_id)
    assert sum(len(known) > 1 for known in ids.values()) >= 4
