"""The examples of routes on a deployed stack: what is sent, and that nothing is sent too late."""

import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from once.genesys.server import Received
from once.outcomes import Outcome
from proof.deployed import DeployedStack, deployed
from proof.events import customer_start
from tests.operate.support import destination_answers, until

pytestmark = pytest.mark.local

SALES = "5e11ab1e-0000-4b0e-8000-000000000001"
COMPLAINT = "c0ff1a17-0000-4000-8000-000000000001"


@pytest.fixture(scope="module")
def routed() -> Iterator[DeployedStack]:
    with deployed(
        ActionTarget="webhook", RoutesFile="examples.toml", MaxActionsPerMinute="600"
    ) as stack:
        yield stack


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def event(kind: str, **body: Any) -> dict[str, Any]:
    """A step of a conversation of its own that has just happened."""
    made = customer_start(str(uuid.uuid4()), **{"eventTime": now_ms(), **body})
    made["detail-type"] = made["detail-type"].replace("customer.start", kind)
    detail = made["detail"]
    detail["topicName"] = detail["topicName"].replace("customer.start", kind)
    return made


def end_of_call(**body: Any) -> dict[str, Any]:
    return event("customer.end", **{"disconnectType": "PEER", "ani": "tel:+447700900123", **body})


def requests_for(routed: DeployedStack, sent: dict[str, Any]) -> list[Received]:
    conversation = sent["detail"]["eventBody"]["conversationId"]
    return [
        entry
        for entry in routed.destination.received("webhook")
        if entry.facts.get("conversationId") == conversation
    ]


def test_events_that_a_route_wants_are_sent_and_the_others_are_ignored(
    routed: DeployedStack,
) -> None:
    abandoned = {"acdOutcome": "ABANDON", "direction": "INBOUND", "queueId": SALES}
    wanted = [
        event("acd.end", **abandoned),
        end_of_call(),
        event("wrapup", wrapupCode=COMPLAINT),
    ]
    others = [
        event("acd.end", **abandoned, mediaType="EMAIL"),
        event("acd.end", **{**abandoned, "acdOutcome": "ANSWERED"}),
        end_of_call(disconnectType="TRANSFER"),
        end_of_call(ani="tel:+4930123456"),
        event("wrapup", wrapupCode=str(uuid.uuid4())),
        event("user.start"),
    ]
    reports = routed.settle(*wanted, *others)
    ends = [Outcome.PROCESSED] * len(wanted) + [Outcome.IGNORED] * len(others)
    assert [report.outcome for report in reports] == ends
    assert [len(requests_for(routed, one)) for one in (*wanted, *others)] == [1] * 3 + [0] * 6
    assert {report.reason for report in reports[3:]} == {"NO_ROUTE_MATCHED"}


def test_copy_of_an_ignored_event_is_a_copy(routed: DeployedStack) -> None:
    ignored = event("user.start")
    (first,) = routed.settle(ignored)
    (copy,) = routed.settle({**ignored, "id": str(uuid.uuid4())})
    assert (first.outcome, copy.outcome) == (Outcome.IGNORED, Outcome.DUPLICATE)


def test_event_that_came_too_late_is_not_sent(routed: DeployedStack) -> None:
    late = end_of_call(eventTime=now_ms() - 121_000)
    (report,) = routed.settle(late)
    assert (report.outcome, report.reason) == (Outcome.IGNORED, "EXPIRED")
    assert requests_for(routed, late) == []


def test_outage_and_pause_that_outlast_the_age_limit_send_no_late_message(
    routed: DeployedStack,
) -> None:
    late, fresh = end_of_call(eventTime=now_ms() - 105_000), end_of_call()
    destination_answers(routed, late["detail"]["eventBody"]["conversationId"], *[503] * 50)
    lines = routed.send(late)
    until(lambda: requests_for(routed, late))
    pause_ends_ms = now_ms() + 20_000
    pause(routed, pause_ends_ms)
    reports = routed.wait([*lines, *routed.send(fresh)])
    assert [report.outcome for report in reports] == [Outcome.IGNORED, Outcome.PROCESSED]
    assert reports[0].reason == "EXPIRED"
    expires_ms = late["detail"]["eventBody"]["eventTime"] + 120_000
    assert all(entry.at_ms < expires_ms for entry in requests_for(routed, late))
    assert not any(entry.acted for entry in requests_for(routed, late))
    assert all(entry.at_ms >= pause_ends_ms for entry in requests_for(routed, fresh))


def pause(routed: DeployedStack, ends_ms: int) -> None:
    """Pauses requests as an operator does."""
    routed.client("dynamodb").put_item(
        TableName=routed.outputs["ClaimTableName"],
        Item={
            "pk": {"S": "pace"},
            "sk": {"S": "breaker"},
            "since": {"N": str(now_ms())},
            "not_before": {"N": str(ends_ms)},
            "held": {"S": "on-call"},
            "expires_at": {"N": str(ends_ms // 1000 + 86_400)},
        },
    )
