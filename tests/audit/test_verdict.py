"""The claim rule of the audit is that of the deployed machine."""

import itertools
from collections import Counter
from typing import Any

import pytest

from once.outcomes import Outcome
from once.verdict import Event, Rows
from proof.asl.errors import Failure
from proof.asl.machine import Call
from proof.settled import Settled, differences, random_stream

STREAMS = 150
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
    assert {kind for kind, count in seen.items() if count >= 2} == {
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


class _Rejected(Settled):
    """The destination permanently rejects the request of the first execution."""

    def _answer(self, call: Call) -> dict[str, Any] | Failure:
        if call.resource.endswith("lambda:invoke") and self._runs == 1:
            return Failure("Rejected", "{}")
        return super()._answer(call)


def test_a_parked_state_that_occurs_again_is_acted_on() -> None:
    streams = itertools.chain.from_iterable(random_stream(seed) for seed in range(STREAMS))
    first, now_ms = next(
        (element, now_ms)
        for element, now_ms in streams
        if element["policy"]["order"] == "changes" and not {"route", "expiresAtMs"} & element.keys()
    )
    machine, rows = _Rejected(), Rows()
    assert machine.settle(first, now_ms).outcome is Outcome.PARKED
    rows.settle(Event.of(first), now_ms)
    rows.claims = {at: one._replace(outcome=Outcome.PARKED) for at, one in rows.claims.items()}
    times = {name: first[name] + 60_000 for name in ("occurredAtMs", "sentAtMs")}
    again = first | times | {"messageId": "again", "trace": {}}
    said = machine.settle(again, now_ms + 60_000)
    assert (said.outcome, said.reason) == (Outcome.PROCESSED, "ACTED")
    assert rows.settle(Event.of(again), now_ms + 60_000) == said
