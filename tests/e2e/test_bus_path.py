"""Events that leave a deployed stack on a bus, and reach a destination through a rule on it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from once.genesys.server import Received
from once.outcomes import Outcome
from proof.deployed import DeployedStack, deployed
from proof.events import customer_start
from tests.contracts.test_seams import check
from tests.operate.conftest import once, up
from tests.operate.support import restart_with, until

pytestmark = pytest.mark.local


@pytest.fixture(scope="module")
def putting() -> Iterator[DeployedStack]:
    with deployed(ActionTarget="eventbridge") as stack:
        yield stack


def received(putting: DeployedStack, conversation: str) -> list[Received]:
    return [
        entry
        for entry in putting.destination.received("bus")
        if entry.facts.get("conversationId") == conversation
    ]


def test_an_event_and_its_copy_arrive_once_through_the_rule(putting: DeployedStack) -> None:
    start = customer_start("bus-once")
    reports = putting.settle(start, start)
    assert {report.outcome for report in reports} == {Outcome.PROCESSED, Outcome.DUPLICATE}
    until(lambda: received(putting, "bus-once"))
    (entry,) = received(putting, "bus-once")
    check("bus-event", entry.body)
    assert entry.body["detail-type"] == "conversation.customer.start"
    assert entry.body["resources"] == ["conversation/bus-once"]
    assert entry.body["detail"]["body"]["conversationId"] == "bus-once"


def test_received_shows_what_the_rule_delivered(putting: DeployedStack, tmp_path: Any) -> None:
    putting.settle(customer_start("bus-shown"))
    until(lambda: received(putting, "bus-shown"))
    with up(putting, tmp_path):
        calls = once("destination", "--json").json["calls"]
    (call,) = [call for call in calls if call["subjectId"] == "bus-shown"]
    assert (call["acted"], call["repeated"], call["status"]) == (True, False, 200)
    assert call["idempotencyKey"] == received(putting, "bus-shown")[0].facts["idempotencyKey"]


def test_a_missing_bus_loses_no_event(putting: DeployedStack) -> None:
    bus = putting.stack.client("events").describe_event_bus(Name="destination")
    restart_with(putting, TARGET_BUS_ARN=bus["Arn"].replace("destination", "gone"))
    try:
        (line,) = putting.send(customer_start("bus-gone"))
        found = until(lambda: recorded(putting, "bus-gone"))
        assert (found[0]["outcome"], found[0]["reason"]) == ("RETRY", "SETUP_FAULT")
        assert "TargetBusArn" in found[0]["cause"]
    finally:
        restart_with(putting, TARGET_BUS_ARN=bus["Arn"])
    (report,) = putting.wait([line])
    assert report.outcome is Outcome.PROCESSED
    until(lambda: received(putting, "bus-gone"))


def test_check_proves_the_path_to_the_bus_and_no_rule_delivers_a_canary(
    putting: DeployedStack, tmp_path: Any
) -> None:
    before = len(putting.destination.received("bus"))
    with up(putting, tmp_path):
        answer = once("check", "--yes", "--json")
    (check,) = [one for one in answer.json["checks"] if "target bus" in one["name"]]
    assert (check["works"], check["said"]) == (True, "PROCESSED, ACTED")
    assert len(putting.destination.received("bus")) == before


def recorded(putting: DeployedStack, conversation: str) -> list[dict[str, Any]]:
    """Reads the records of messages about this conversation from the outcome log."""
    lines = putting.client("logs").filter_log_events(
        logGroupName=putting.outputs["OutcomeLogGroupName"]
    )["events"]
    entries = [json.loads(line["message"]) for line in lines]
    return [entry for entry in entries if str(entry.get("pk")).endswith(f"/{conversation}")]
