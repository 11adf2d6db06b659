"""What `once check` sends is read as events, and known by the data action alone."""

import json
import time
from typing import Any

import pytest
from data_action import canary
from data_action.errors import Failed, Rejected

from once.operate.canaries import Canaries, Canary
from tests.enrichment import sending

HOUR_MS = 3_600_000


def element(event: Any) -> dict[str, Any]:
    return sending.element(event, sent_ms=time.time_ns() // 1_000_000)


@pytest.fixture
def flock() -> Canaries:
    return Canaries.hatch(fails_for_ms=HOUR_MS)


@pytest.mark.parametrize("name", ["good", "refused", "failing"])
def test_a_canary_is_an_event_that_only_the_data_action_answers(flock: Canaries, name: str) -> None:
    one = element(json.loads(getattr(flock, name).body))
    assert one["kind"] == "event"
    assert one["family"] == "once.check"
    assert one["subject"]["id"] == f"{flock.run}-{name}"
    assert one["policy"]["windowMs"] == 0
    assert canary.is_canary(one)


def test_each_canary_asks_for_its_own_end(flock: Canaries) -> None:
    def answered(one: Canary, later_ms: int = 0) -> None:
        event = element(json.loads(one.body))
        canary.answer(event, event["occurredAtMs"] + later_ms)

    answered(flock.good)
    with pytest.raises(Rejected):
        answered(flock.refused)
    with pytest.raises(Failed):
        answered(flock.failing, HOUR_MS - 1)
    answered(flock.failing, HOUR_MS)
    assert element(flock.broken.body)["reason"] == "NOT_JSON"
    assert flock.run in flock.broken.body


def test_a_copy_is_the_same_event_in_a_new_envelope(flock: Canaries) -> None:
    first, copy = json.loads(flock.good.body), json.loads(flock.good.copy())
    assert first["id"] != copy["id"]
    assert element(first)["key"] == element(copy)["key"]


def test_canaries_of_two_checks_are_told_apart(flock: Canaries) -> None:
    other = Canaries.hatch(HOUR_MS)
    bodies = [json.loads(one.body) for one in (*flock.all()[:3], *other.all()[:3])]
    assert len({element(body)["key"]["pk"] for body in bodies}) == 6
    assert [one.name for one in flock.all()] == ["good", "refused", "failing", "broken"]
