"""What a caller's phone number does not get into: any log, with the template's defaults.

Ids and times, which make the key, are logged; whatever else an event carries is not.
The embedded AWS writes no logs of pipe and state machine; for those, the template is asked.
"""

import json
from typing import Any

import pytest

from once.report import Outcome
from tests.embedded import Embedded
from tests.events import customer_start
from tests.template import RESOURCES, TEMPLATE

PHONE = "4915550100742"


def logged(embedded: Embedded) -> dict[str, list[str]]:
    logs = embedded.client("logs")
    groups = [group["logGroupName"] for group in logs.describe_log_groups()["logGroups"]]
    pages = logs.get_paginator("filter_log_events")
    return {
        group: [
            event["message"]
            for page in pages.paginate(logGroupName=group)
            for event in page["events"]
        ]
        for group in groups
    }


def call(conversation: str, **body: Any) -> dict[str, Any]:
    return customer_start(
        conversation,
        ani=f"tel:+{PHONE}",
        attributes={"Caller": f"+{PHONE}", f"number {PHONE}": "yes"},
        **body,
    )


@pytest.mark.embedded
def test_a_phone_number_gets_into_no_log_whatever_becomes_of_its_event(
    embedded: Embedded,
) -> None:
    echo = {"message": f"no such caller: +{PHONE}", "userMessage": f"+{PHONE}"}
    for conversation, reply in (
        ("private-refused", {"status": 422, "body": echo}),
        ("private-uncertain", "processing"),
        ("private-failing-once", {"status": 500, "body": echo}),
    ):
        rule = {"match": {"conversationId": conversation}, "replies": [reply]}
        embedded.destination.script.add(rule)
    broken = json.dumps(call("private-cut-off"))[:-9]
    nameless = call("private-without-a-subject")
    for name in ("conversationId", "participantId", "sessionId", "eventTime"):
        nameless["detail"]["eventBody"][name] = {"phone": PHONE}
    odd = call("private-odd", mediaType=[PHONE], provider={"dnis": PHONE})
    reports = embedded.settle(
        call("private"),
        call("private"),
        call("private-large", note=PHONE * 17_000),
        call("private-refused"),
        call("private-uncertain"),
        call("private-failing-once"),
        broken,
        nameless,
        odd,
    )
    assert {report.outcome for report in reports} == {
        Outcome.PROCESSED,
        Outcome.DUPLICATE,
        Outcome.PARKED,
    }
    parked = [json.dumps(body) for body in embedded.parked()]
    assert any(PHONE in body for body in parked), "the number was planted where it should be kept"
    found = logged(embedded)
    for group in ("OutcomeLogGroup", "EnrichmentLogGroup", "DataActionLogGroup"):
        assert any(group in name and messages for name, messages in found.items()), group
    for group, messages in found.items():
        for message in messages:
            assert PHONE not in message, (group, message)


def test_the_logs_of_pipe_and_state_machine_hold_no_payload_unless_asked_for() -> None:
    assert TEMPLATE["Parameters"]["LogPayloads"]["Default"] == "false"
    logging = RESOURCES["StateMachine"]["Properties"]["Logging"]
    assert logging["IncludeExecutionData"] == {"Ref": "LogPayloads"}
    assert "IncludeExecutionData" not in RESOURCES["Pipe"]["Properties"]["LogConfiguration"]
