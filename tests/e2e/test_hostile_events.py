"""Events made to harm go through the deployed path like any other: one outcome each, in no more
time, and nothing of what they hold in any log."""

import json
import time
from typing import Any

import pytest

from once.outcomes import SETTLED, Outcome
from proof.embedded import Embedded
from proof.events import customer_start
from tests.e2e.test_privacy import leaks, logged

pytestmark = pytest.mark.embedded

MARKER = "h0stile"
ESCAPES = f"\x1b[2J\x1b]0;{MARKER}\x07\u202e{MARKER}\x9b31m"
# What the machine and a busy neighbour may add to a run; a single message that hangs adds 20 s.
SLACK_SECONDS = 8.0


def harmless(number: int) -> dict[str, Any]:
    return customer_start(f"harmless-{number}", attributes={"note": "x" * 1_000})


def _topic_of_many_slots() -> dict[str, Any]:
    """Reading its ids once took longer than the function has."""
    event = customer_start("hostile-slots")
    event["detail-type"] = "v2." + ".".join(["{id}.a"] * 40)
    event["detail"]["topicName"] = "v2." + ".".join(["a.a"] * 200) + f".{MARKER}!"
    return event


def _number(value: int) -> dict[str, Any]:
    return customer_start("hostile-number", attributes={"n": value})


def _element_that_names_a_row_of_ours() -> dict[str, Any]:
    return {
        "messageId": "m1",
        "kind": "event",
        "family": "conversation.customer.start",
        "key": {"pk": "pace", "sk": "breaker"},
        "body": {"text": MARKER},
    }


HOSTILE: list[str] = [
    json.dumps(event) if not isinstance(event, str) else event
    for event in (
        _topic_of_many_slots(),
        _number(2**70),
        _number(-(10**400)),
        _element_that_names_a_row_of_ours(),
        {"detail-type": "Once Check", "detail": {"id": "once-check", "text": MARKER}},
        {"id": "conv-1", "conversationId": "conv-1", "status": f"{MARKER} +4915550100742"},
        {"detail-type": ESCAPES, "detail": {"conversationId": "c0ffee-9", "status": ESCAPES}},
        {"detail": {"conversationId": MARKER * 500, "status": "open", "callerId": MARKER}},
        customer_start("hostile-text", attributes={ESCAPES: ESCAPES}),
        "[" * 5_000 + f'"{MARKER}"' + "]" * 5_000,
        f'{{"{MARKER}": ' * 300 + "1" + "}" * 300,
        f"\ufeff{{'{MARKER}': not json",
    )
]


def _tracebacks(embedded: Embedded) -> int:
    return sum("Traceback" in text for texts in logged(embedded).values() for text in texts)


def test_hostile_events_have_one_outcome_each_leave_no_trace_and_take_no_longer(
    embedded: Embedded,
) -> None:
    before = _tracebacks(embedded)
    began = time.monotonic()
    embedded.settle(*(harmless(number) for number in range(len(HOSTILE))))
    usual_seconds = time.monotonic() - began

    began = time.monotonic()
    reports = embedded.settle(*HOSTILE)
    seconds = time.monotonic() - began

    assert {report.outcome for report in reports} <= SETTLED
    assert Outcome.PARKED in {report.outcome for report in reports}
    assert leaks(logged(embedded), [MARKER, "4915550100742"]) == []
    assert _tracebacks(embedded) == before
    assert seconds <= usual_seconds + SLACK_SECONDS
    row = embedded.client("dynamodb").get_item(
        TableName=embedded.outputs["ClaimTableName"],
        Key={"pk": {"S": "pace"}, "sk": {"S": "breaker"}},
    )
    assert "Item" not in row
