"""Each part writes what the next part reads, as the contract of the seam says."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from once_data_action.request import ActionRequest, body_text, webhook_text
from once_enrichment import handler
from once_enrichment.handler import normalise

from once.model.rule import Event, Rows
from schemas import contracts, examples
from schemas.contracts import closed
from tests.statemachine import playing

SCHEMAS = contracts.schemas()
Json = dict[str, Any]


def check(name: str, value: Any) -> None:
    """Checks a value by its schema, and that it has no other field."""
    errors = Draft202012Validator(closed(SCHEMAS[name])).iter_errors(value)
    assert [f"{error.json_path}: {error.message}" for error in errors] == []


@pytest.fixture(params=[pytest.param(line, id=line["name"]) for line in examples.read()])
def element(request: pytest.FixtureRequest) -> Json:
    return examples.element_of(request.param["event"])


def test_element_keeps_its_schema_and_the_claim_rule_reads_it(element: Json) -> None:
    check("event", element)
    verdict = Rows().settle(Event.of(element), examples.SENT_MS)
    assert verdict.outcome == ("PARKED" if "broken" in element else "PROCESSED")


def test_data_action_reads_the_element_and_a_webhook_gets_the_body(element: Json) -> None:
    if "broken" in element:
        return
    request = {
        "version": "3",
        "event": element,
        "idempotencyKey": f"{element['keyHash']}.{element['occurredAtMs']}",
        "owner": "run#first",
        "tries": 0,
        "failedAtMs": 0,
        "deaths": 0,
        "retry": 0,
    }
    check("action-request", request)
    sent = json.loads(webhook_text(ActionRequest.read(request)))
    check("webhook-request", sent)
    assert sent["body"] == json.loads(body_text(element))


@pytest.mark.parametrize("reason", [{}, {"reason": "REJECTED", "cause": "no", "key": "a v2/b"}])
def test_message_of_the_project_keeps_its_schema_and_leads_to_the_same_event(reason: Json) -> None:
    line = examples.read()[0]
    once = {"firstMessageId": "first", "firstSentAtMs": examples.SENT_MS - 5, "after": "run#first"}
    message = {"once": {**once, **reason}, "event": json.dumps(line["event"])}
    check("message", message)
    element = normalise(examples.record_of(message))
    assert element["key"] == line["key"]
    assert (element["firstMessageId"], element["after"]) == ("first", "run#first")


@pytest.mark.parametrize("text", ['{"a":"b"}', "x", '\\"'])
def test_largest_event_that_the_enrichment_hands_over_is_put_back_or_parked(text: str) -> None:
    """Else each delivery of it would end with its claim, and the next would find it dead."""
    element = {**playing.element(), "raw": text}
    while (size := handler.size_of(element)) < handler.LARGEST_BYTES - 100:
        element["raw"] += text * max(1, (handler.LARGEST_BYTES - size) // (9 * len(text)))
    for name in ("PutBack", "Parked"):
        answers = {"RunAction": [playing.raised(name, reason="R", cause="c" * 300)]}
        assert playing.Play([element], answers).ended.failure is None


def test_schemas_forbid_no_field_that_a_reader_may_meet_later() -> None:
    for name, schema in SCHEMAS.items():
        Draft202012Validator.check_schema(schema)
        parts = [schema, *schema.get("$defs", {}).values()]
        assert not [name for part in parts if part.get("additionalProperties") is False]
