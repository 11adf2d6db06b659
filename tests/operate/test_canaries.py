"""Canaries of `once check` are read as events, and only the data action recognises them."""

import json
import time
from typing import Any

import botocore.session
import pytest
from once_data_action import canary
from once_data_action.errors import Failed, Rejected
from once_enrichment.normalise import normalise

from once.operate.canaries import ATTRIBUTES, Canaries, Canary
from proof.deployed import DeployedStack
from tests.enrichment import sending
from tests.operate.conftest import once
from tests.operate.support import until, verdict

HOUR_MS = 3_600_000


def element(event: Any) -> dict[str, Any]:
    """Makes the element that the enrichment makes, with the attribute that `once check` sends."""
    record = sending.record(event, sent_ms=time.time_ns() // 1_000_000)
    marks = {
        name: {"dataType": one["DataType"], "stringValue": one["StringValue"]}
        for name, one in ATTRIBUTES.items()
    }
    return normalise({**record, "messageAttributes": marks})


@pytest.fixture
def canaries() -> Canaries:
    return Canaries.create(fails_for_ms=HOUR_MS)


@pytest.mark.parametrize("name", ["good", "refused", "failing"])
def test_a_canary_is_an_event_that_only_the_data_action_answers(
    canaries: Canaries, name: str
) -> None:
    one = element(json.loads(getattr(canaries, name).body))
    assert one["kind"] == "event"
    assert one["family"] == "once.check"
    assert one["subject"]["id"] == f"{canaries.run}-{name}"
    assert one["policy"]["windowMs"] == 0
    assert "note" not in one, "else it raised the alarm genesys-changed"
    assert canary.is_canary(one)


@pytest.mark.parametrize("path", [(), ("detail",), ("detail", "eventBody")])
def test_contents_of_an_event_mark_no_canary(canaries: Canaries, path: tuple[str, ...]) -> None:
    event = json.loads(canaries.good.body)
    inner = event
    for name in path:
        inner = inner[name]
    inner.update({"canary": True, "messageAttributes": ATTRIBUTES, **ATTRIBUTES})
    assert not canary.is_canary(sending.element(event))


def test_a_rule_of_eventbridge_sets_no_message_attribute() -> None:
    """Its API Reference says of SqsParameters the same as the model that comes with boto3."""
    events = botocore.session.get_session().get_service_model("events")
    target = events.shape_for("Target")
    assert set(target.members["SqsParameters"].members) == {"MessageGroupId"}
    assert not [name for name in target.members if "Attribute" in name]


def test_each_canary_asks_for_its_own_end(canaries: Canaries) -> None:
    def answered(one: Canary, later_ms: int = 0) -> None:
        event = element(json.loads(one.body))
        canary.answer(event, event["occurredAtMs"] + later_ms)

    answered(canaries.good)
    with pytest.raises(Rejected):
        answered(canaries.refused)
    with pytest.raises(Failed):
        answered(canaries.failing, HOUR_MS - 1)
    answered(canaries.failing, HOUR_MS)
    assert element(canaries.broken.body)["reason"] == "NOT_JSON"
    assert canaries.run in canaries.broken.body


def test_a_copy_is_the_same_event_in_a_new_envelope(canaries: Canaries) -> None:
    first, copy = json.loads(canaries.good.body), json.loads(canaries.good.copy())
    assert first["id"] != copy["id"]
    assert element(first)["key"] == element(copy)["key"]


def test_canaries_of_two_checks_are_told_apart(canaries: Canaries) -> None:
    other = Canaries.create(HOUR_MS)
    events = [one for run in (canaries, other) for one in (run.good, run.refused, run.failing)]
    assert len({element(json.loads(one.body))["key"]["pk"] for one in events}) == 6


@pytest.mark.local
def test_a_dead_letter_stays_a_canary_when_it_is_replayed(
    canaries: Canaries, operated: DeployedStack
) -> None:
    operated.client("sqs").send_message(
        QueueUrl=operated.outputs["EventDeadLettersUrl"],
        MessageBody=canaries.good.body,
        MessageAttributes=ATTRIBUTES,
    )
    assert once("dead-letters", "replay", "--yes").code == 0
    said = until(lambda: verdict(f"{canaries.run}-good"))
    assert "nothing was sent" in said
    # The events of other tests on this stack may still be sent.
    assert canaries.run not in once("destination", "--json").out
