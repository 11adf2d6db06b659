"""The schema that the template publishes to EventBridge's registry says the same as our own.

The emulator has no such registry, so the template is held to what AWS documents of it.
"""

import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.validate import validate_parameters
from jsonschema import Draft4Validator, Draft202012Validator
from once_data_action.bodies import Bodies
from once_data_action.eventbridge import EventBridge
from once_data_action.request import ActionRequest, Budget, WebhookRequest
from once_enrichment.elements import ActionEvent

from proof.template import RESOURCES, TEMPLATE
from schemas.registry import draft4

SCHEMAS = Path(__file__).parents[2] / "schemas"
PROPERTIES = RESOURCES["EventSchema"]["Properties"]
PUBLISHED = json.loads(PROPERTIES["Content"])
OWN = json.loads((SCHEMAS / "bus-event.schema.json").read_text())
REQUEST = json.loads((SCHEMAS / "examples" / "action-request.json").read_text())
ELEMENTS = [json.loads(path.read_text()) for path in SCHEMAS.glob("examples/*.element.json")]


class Bus:
    """Delivers what was put on it last, as EventBridge does."""

    def put_events(self, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        (self.entry,) = Entries
        return {"Entries": [{"EventId": "e1"}]}

    @property
    def delivered(self) -> dict[str, Any]:
        return {
            "version": "0",
            "id": "e1",
            "detail-type": self.entry["DetailType"],
            "source": self.entry["Source"],
            "account": "111122223333",
            "time": f"{self.entry['Time']:%Y-%m-%dT%H:%M:%SZ}",
            "region": "eu-central-1",
            "resources": self.entry["Resources"],
            "detail": json.loads(self.entry["Detail"]),
        }


def put(element: dict[str, Any]) -> dict[str, Any]:
    """Returns what arrives on the bus if the data action gets this element."""
    bus = Bus()
    target = EventBridge("arn", None, Bodies("", lambda: None), bus, bus, lambda: 1)  # type: ignore[arg-type, return-value] # no body is in the bucket
    request = ActionRequest.read({**REQUEST, "event": element})
    target.act(request, {}, Budget(2, 1_000, 5_000, lambda: 1))
    return bus.delivered


def parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema and all schemas in it."""
    yield schema
    for word in ("properties", "definitions"):
        for part in schema.get(word, {}).values():
            yield from parts(part)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from parts(schema["additionalProperties"])


def test_it_has_only_words_of_draft_4() -> None:
    Draft4Validator.check_schema(PUBLISHED)
    words = {*Draft4Validator.META_SCHEMA["properties"], "$ref"}
    for part in parts(PUBLISHED):
        assert set(part) <= words
        assert "$ref" not in part or len(part) == 1, "draft 4 reads nothing beside a reference"
    assert "$defs" not in PROPERTIES["Content"]


def both(element: Any) -> tuple[bool, bool]:
    return Draft4Validator(PUBLISHED).is_valid(element), Draft202012Validator(OWN).is_valid(element)


def test_schema_takes_delivered_examples_and_refuses_elements() -> None:
    events = [element for element in ELEMENTS if element["kind"] == "event"]
    assert len(events) > 50
    for element in events:
        assert both(put(element)) == (True, True), element["family"]
        assert both(element) == (False, False)


def spoiled(schema: dict[str, Any], value: Any) -> Iterator[tuple[str, Any]]:
    """The value with one thing in it wrong, for each thing that the schema says of it."""
    schema = OWN["$defs"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    for name in schema.get("required", []):
        yield f"no {name}", {key: part for key, part in value.items() if key != name}
    for name, part in schema.get("properties", {}).items():
        if isinstance(value, dict) and name in value and part.keys() - {"description"}:
            yield f"{name} of another type", value | {name: [7]}
            for what, wrong in spoiled(part, value[name]):
                yield f"{name}: {what}", value | {name: wrong}
    for word, wrong in {
        "const": "otherwise",
        "enum": "otherwise",
        "pattern": "\n",
        "exclusiveMinimum": schema.get("exclusiveMinimum"),
        "minimum": schema.get("minimum", 0) - 1,
        "maximum": schema.get("maximum", 0) + 1,
    }.items():
        if word in schema:
            yield word, wrong
    if isinstance(schema.get("additionalProperties"), dict):
        yield "another value", value | {"more": 7}


def test_whatever_is_wrong_is_wrong_in_both() -> None:
    element = json.loads((SCHEMAS / "examples" / "user.presence.element.json").read_text())
    faults = dict(spoiled(OWN, put(element)))
    wanted = ("no detail", "detail: no key", "detail: key: no sk", "detail: ids: another value")
    for what in (*wanted, "source: const"):
        assert what in faults
    for what, wrong in faults.items():
        assert both(wrong) == (False, False), what


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"const": "1"}, {"enum": ["1"]}),
        ({"exclusiveMinimum": 0}, {"minimum": 0, "exclusiveMinimum": True}),
        ({"$id": "urn:a", "examples": ["a"], "type": "string"}, {"type": "string"}),
        (
            {"properties": {"const": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"const": 1}}},
            {
                "properties": {"const": {"$ref": "#/definitions/A"}},
                "definitions": {"A": {"enum": [1]}},
            },
        ),
    ],
)
def test_each_newer_word_has_its_older_one(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert draft4(ours) == theirs


def test_the_registry_takes_it_by_its_api() -> None:
    service = boto3.client("schemas", region_name="eu-central-1").meta.service_model
    asked = {key: PROPERTIES[key] for key in ("Content", "Description", "Type")}
    named = asked | {"RegistryName": "once-schema", "SchemaName": "once-event"}
    validate_parameters(named, service.operation_model("CreateSchema").input_shape)
    assert PROPERTIES["Type"] in service.shape_for("Type").enum
    assert (
        0 < len(PROPERTIES["Content"]) <= service.shape_for("__stringMin1Max100000").metadata["max"]
    )


def test_it_is_published_only_where_it_is_asked_for() -> None:
    assert TEMPLATE["Parameters"]["PublishSchemas"]["Default"] == "false"
    for name in ("SchemaRegistry", "EventSchema"):
        assert RESOURCES[name]["Condition"] == "PublishesSchemas"
    assert PROPERTIES["RegistryName"] == {"GetAtt": "SchemaRegistry.RegistryName"}


def test_every_field_of_a_webhook_is_filled_from_the_element() -> None:
    own = {"version", "idempotencyKey"}
    of_an_element = ActionEvent.model_json_schema()["properties"].keys()
    assert {field.name for field in fields(WebhookRequest)} - own <= of_an_element
