"""The claim rule in memory is that of the deployed definition."""

from collections import Counter

import pytest

from once.model.reasons import Outcome
from once.model.rule import Event, Rows
from tests.model.settled import START_MS, Settled, find_differences, random_stream

STREAMS = 60


@pytest.mark.parametrize("first", range(0, STREAMS, 20))
def test_the_rule_judges_random_streams_as_the_machine_does(first: int) -> None:
    for seed in range(first, first + 20):
        assert find_differences(random_stream(seed)) == [], f"seed {seed}"


def test_the_random_streams_come_to_every_verdict_of_a_settled_stream() -> None:
    seen: Counter[str] = Counter()
    for seed in range(STREAMS):
        rows = Rows()
        for element, now_ms in random_stream(seed):
            verdict = rows.settle(Event.of(element), now_ms)
            seen[f"{verdict.outcome} {verdict.reason}"] += 1
    expected = {
        "PROCESSED ACTED", "PROCESSED SETTLED_BEFORE", "DUPLICATE SAME_KEY",
        "DUPLICATE SAME_EVENT_ID", "DUPLICATE UNCHANGED", "DUPLICATE SETTLED_BEFORE",
        "IGNORED ROUTE_IS_NONE", "IGNORED EXPIRED", "STALE NEWER_STATE", "STALE SETTLED_BEFORE",
    }  # fmt: skip
    assert expected <= {*seen}


def test_a_parked_state_that_is_still_the_newest_is_acted_on() -> None:
    streams = (random_stream(seed) for seed in range(STREAMS))
    first = next(
        element
        for stream in streams
        for element, _ in stream
        if element["policy"]["order"] == "changes" and "ignored" not in element["route"]
    )
    first = {**first, "expiresAtMs": 10**14, "trace": {}}
    machine, rows = Settled(), Rows()
    machine.rejects = True
    assert machine.settle(first, START_MS).outcome is Outcome.PARKED
    machine.rejects = False
    rows.settle(Event.of(first), START_MS)
    rows.claims = {key: row._replace(outcome=Outcome.PARKED) for key, row in rows.claims.items()}
    later_ms = first["occurredAtMs"] + 60_000
    again = {**first, "occurredAtMs": later_ms, "firstMessageId": "m99"}
    verdict = machine.settle(again, START_MS + 400_000)
    assert (verdict.outcome, verdict.reason) == (Outcome.PROCESSED, "ACTED")
    assert rows.settle(Event.of(again), START_MS + 400_000) == verdict
