"""The two rules of docs/examples/bus-rules.yaml match what the data action puts on a bus."""

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from cfnlint import lint_file
from cfnlint.decode import cfn_yaml
from moto import mock_aws
from once_data_action.eventbridge import SOURCE
from once_data_action.request import ActionRequest, webhook_text

from tests.action.support import payload

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = DOCS / "examples" / "bus-rules.yaml"
RESOURCES = cfn_yaml.load(str(EXAMPLE))["Resources"]


def test_the_example_passes_the_linter_and_is_named_in_the_docs() -> None:
    assert [str(match) for match in lint_file(EXAMPLE)] == []
    assert f"examples/{EXAMPLE.name}" in (DOCS / "data-action.md").read_text()


def delivered(rule: str, **changes: Any) -> list[dict[str, Any]]:
    """Returns what the rule delivers to a queue for an event on its bus."""
    detail = json.loads(webhook_text(ActionRequest.read(payload())))
    detail |= {"body": changes.pop("body", {})}
    event = {"source": SOURCE, "detail-type": detail["family"]} | changes
    with mock_aws():
        events = boto3.client("events", region_name="eu-central-1")
        sqs = boto3.client("sqs", region_name="eu-central-1")
        queue = sqs.create_queue(QueueName="queue")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
        events.create_event_bus(Name="bus")
        pattern = json.dumps(RESOURCES[rule]["Properties"]["EventPattern"])
        events.put_rule(Name="rule", EventBusName="bus", EventPattern=pattern)
        target = {"Id": "queue", "Arn": arn["Attributes"]["QueueArn"]}
        events.put_targets(Rule="rule", EventBusName="bus", Targets=[target])
        entry = {
            "EventBusName": "bus",
            "Source": event["source"],
            "DetailType": event["detail-type"],
            "Detail": json.dumps(detail),
        }
        events.put_events(Entries=[entry])
        messages = sqs.receive_message(QueueUrl=queue).get("Messages", [])
        return [json.loads(message["Body"]) for message in messages]


ABANDONED = {"acdOutcome": "ABANDON", "mediaType": "VOICE"}


@pytest.mark.parametrize(
    ("rule", "family", "body", "matches"),
    [
        ("AbandonedRule", "conversation.acd.end", ABANDONED, True),
        ("AbandonedRule", "conversation.acd.end", ABANDONED | {"acdOutcome": "ANSWERED"}, False),
        ("AbandonedRule", "conversation.acd.start", ABANDONED, False),
        ("EndedRule", "conversation.customer.end", {}, True),
        ("EndedRule", "conversation.customer.start", {}, False),
    ],
)
@pytest.mark.parametrize("source", ["genesys-once", "genesys-once.check"])
def test_a_rule_delivers_its_events_and_no_canary(
    rule: str, family: str, body: dict[str, str], matches: bool, source: str
) -> None:
    found = delivered(rule, source=source, **{"detail-type": family, "body": body})
    assert len(found) == (matches and source == "genesys-once")
    assert all(one["detail"]["idempotencyKey"] for one in found)


def test_an_api_gets_the_key_in_a_header() -> None:
    (target,) = RESOURCES["EndedRule"]["Properties"]["Targets"]
    place = target["HttpParameters"]["HeaderParameters"]["Idempotency-Key"]
    assert place == "$.detail.idempotencyKey"
    assert json.loads(webhook_text(ActionRequest.read(payload())))["idempotencyKey"]
