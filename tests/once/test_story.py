"""The example stream that ships holds the situations that it is there to show."""

import json
from collections import Counter

from once.project import EXAMPLE

LINES = EXAMPLE.read_text().splitlines()
EXPECTED = json.loads(EXAMPLE.with_suffix(".expected.json").read_text())


def test_story_has_exact_copies_and_copies_under_other_ids() -> None:
    assert len(LINES) - len(set(LINES)) >= 5
    assert len(set(LINES)) > len({end["happening"] for end in EXPECTED})


def test_story_acts_once_on_each_happening_two_of_them_in_one_millisecond() -> None:
    acted = [
        (end["happening"], json.loads(line)["detail"].get("eventBody", {}))
        for end, line in zip(EXPECTED, LINES, strict=True)
        if end["outcome"] == "PROCESSED"
    ]
    assert len({happening for happening, _ in acted}) == len(acted)
    times = Counter((body.get("conversationId"), body.get("eventTime")) for _, body in acted)
    del times[None, None]
    assert 2 in times.values()
