"""The claim rule of the audit is that of the deployed machine."""

from collections import Counter

import pytest

from once.verdict import Event, Rows
from proof.settled import differences, random_stream

STREAMS = 300
SHARE = 50


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(0, STREAMS, SHARE))
def test_the_audit_judges_random_streams_as_the_machine_does(first: int) -> None:
    for seed in range(first, first + SHARE):
        assert differences(random_stream(seed)) == [], f"seed {seed}"


def test_the_random_streams_come_to_every_verdict_of_a_settled_stream() -> None:
    seen: Counter[tuple[str, str]] = Counter()
    for seed in range(STREAMS):
        rows = Rows()
        for element, now_ms in random_stream(seed):
            verdict = rows.settle(Event.of(element), now_ms)
            seen[verdict.outcome.value, verdict.reason] += 1
    assert {kind for kind, count in seen.items() if count >= 3} == {
        ("PROCESSED", "ACTED"),
        ("PROCESSED", "SETTLED_BEFORE"),
        ("DUPLICATE", "SAME_KEY"),
        ("DUPLICATE", "SAME_EVENT_ID"),
        ("DUPLICATE", "UNCHANGED"),
        ("DUPLICATE", "SETTLED_BEFORE"),
        ("IGNORED", "ROUTE_IS_NONE"),
        ("IGNORED", "EXPIRED"),
        ("IGNORED", "SETTLED_BEFORE"),
        ("STALE", "NEWER_STATE"),
        ("STALE", "NEWER_OCCURRENCE"),
        ("STALE", "SETTLED_BEFORE"),
    }
