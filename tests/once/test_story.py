"""The example stream that ships holds the situations that it is there to show."""

import json
from collections import Counter

from once.project import EXAMPLE

LINES = EXAMPLE.read_text().splitlines()
EXPECTED = json.loads(EXAMPLE.with_suffix(".expected.json").read_text())
ACTED = [
    (end["happening"], json.loads(line)["detail"])
    for end, line in zip(EXPECTED, LINES, strict=True)
    if end["outcome"] == "PROCESSED"
]


def test_story_has_each_outcome_and_acts_once_on_each_happening() -> None:
    outcomes = Counter(end["outcome"] for end in EXPECTED)
    assert outcomes == {"PROCESSED": 37, "DUPLICATE": 18, "STALE": 2, "PARKED": 1}
    assert len({happening for happening, _ in ACTED}) == 37


def test_story_has_exact_copies_and_copies_under_other_ids() -> None:
    assert len(LINES) - len(set(LINES)) >= 5
    assert len(set(LINES)) > len({end["happening"] for end in EXPECTED})


def test_story_acts_on_two_states_of_one_millisecond() -> None:
    bodies = [detail.get("eventBody", {}) for _, detail in ACTED]
    times = Counter((body.get("conversationId"), body.get("eventTime")) for body in bodies)
    del times[None, None]
    assert 2 in times.values()
