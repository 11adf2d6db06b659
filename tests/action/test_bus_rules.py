"""The two rules of docs/examples/bus-rules.yaml match what the data action puts on a bus."""

import json
from pathlib import Path
from typing import Any

import pytest
from moto.events.models import EventPattern
from once_data_action.eventbridge import CANARY_SOURCE, SOURCE
from once_data_action.request import ActionRequest, webhook_text
from samcli.yamlhelper import yaml_parse

from tests.action.support import payload

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "bus-rules.yaml"
RESOURCES = yaml_parse(EXAMPLE.read_text())["Resources"]
DETAIL = json.loads(webhook_text(ActionRequest.read(payload())))


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
@pytest.mark.parametrize("source", [SOURCE, CANARY_SOURCE])
def test_a_rule_delivers_its_events_and_no_canary(
    rule: str, family: str, body: dict[str, str], matches: bool, source: str
) -> None:
    pattern = EventPattern.load(json.dumps(RESOURCES[rule]["Properties"]["EventPattern"]))
    event: Any = {"source": source, "detail-type": family, "detail": DETAIL | {"body": body}}
    assert pattern.matches_event(event) == (matches and source == SOURCE)


def test_an_api_gets_the_key_in_a_header() -> None:
    (target,) = RESOURCES["EndedRule"]["Properties"]["Targets"]
    place = target["HttpParameters"]["HeaderParameters"]["Idempotency-Key"]
    assert place == "$.detail.idempotencyKey"
    assert DETAIL["idempotencyKey"]
