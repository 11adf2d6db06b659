"""What is put off is sent again in one task, and a task takes no more than 256 KiB."""

import json
from typing import Any

import jsonata
import pytest

from proof.definition.asl import states

MOST_BYTES = 262_144
BATCH_BYTES = 204_800  # the enrichment lets no more through
DEFERRED = states()["MeasureBacklog"]["Assign"]["deferred"][2:-2]
ENTRIES = states()["DeferEvents"]["Arguments"]["Entries"][2:-2]
PLAIN, NESTED, ACCENTS = "x", '"', "é"


def batch(count: int, filling: str) -> list[dict[str, Any]]:
    """As large as one may be, serialised."""
    events = [
        {"messageId": f"m{n}", "kind": "event", "occurredAtMs": n, "body": {}} for n in range(count)
    ]
    share = (BATCH_BYTES - len(json.dumps(events))) // count
    for event in events:
        text = filling * share
        while len(json.dumps(text, ensure_ascii=False).encode()) > share:
            text = text[: len(text) * 9 // 10]
        event["body"] = {"text": text}
    return events


def deferred(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    records = [
        {"messageId": event["messageId"], "outcome": "RETRY", "reason": "LIMITED"}
        for event in events
    ]
    known = {"batch": events, "records": records, "deferrable": ["LIMITED"]}
    return list(jsonata.Jsonata(DEFERRED).evaluate(None, known))


def task_bytes(events: list[dict[str, Any]]) -> int:
    parsed = jsonata.Jsonata(ENTRIES)
    parsed.register_lambda("millis", lambda: 0)
    known = {"deferred": events, "readySeconds": 0, "spreadSeconds": 1}
    entries = list(parsed.evaluate(None, known))
    return len(json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode())


@pytest.mark.parametrize("count", [1, 3, 10])
@pytest.mark.parametrize("filling", [PLAIN, NESTED, ACCENTS])
def test_what_is_put_off_fits_into_its_task(count: int, filling: str) -> None:
    chosen = deferred(batch(count, filling))
    assert not chosen or task_bytes(chosen) < MOST_BYTES


def test_an_ordinary_batch_is_put_off_whole() -> None:
    assert len(deferred(batch(10, PLAIN))) == 10


def test_of_text_that_is_escaped_twice_only_the_oldest_are() -> None:
    events = batch(10, NESTED)
    assert task_bytes(events) > MOST_BYTES, "else there is nothing to guard against"
    chosen = deferred(events)
    assert 0 < len(chosen) < 10
    assert chosen == events[: len(chosen)]


def test_what_can_never_fit_is_handed_back() -> None:
    assert deferred(batch(1, NESTED)) == []
