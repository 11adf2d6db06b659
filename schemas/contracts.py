"""The list of contracts, each made into a JSON Schema that a person can read."""

import json
from dataclasses import dataclass
from typing import Any

from once_data_action.request import WebhookRequest
from once_enrichment.handler import VERSION
from pydantic import TypeAdapter

from once.model.records import Claim, Latest, LoggedRecord
from schemas import models

Schema = dict[str, Any]

_COMMON = {
    "envelopeId": "The id that EventBridge gave the envelope.",
    "family": "The kind of event, as docs/families.md lists them.",
    "id": "Its id.",
    "occurredAtMs": "The time of the event, epoch milliseconds.",
    "pk": "Organisation, subject type and subject id.",
    "reason": "The reason of the outcome, by its code.",
    "sk": "Key version, family and identity parts.",
    "type": "Its kind.",
}
"""Descriptions of fields that mean the same everywhere, if their models have none."""


@dataclass(frozen=True)
class Contract:
    """One model that crosses a boundary; rows have their names in snake case."""

    name: str
    model: Any
    title: str
    is_row: bool = False


CONTRACTS = (
    Contract("event", models.Event, "Element: one message, normalised"),
    Contract("message", models.Message, "Message that the project sends itself"),
    Contract("action-request", models.ActionRequest, "Request to the data action function"),
    Contract("webhook-request", WebhookRequest, "JSON that a webhook receives"),
    Contract("bus-event", models.BusEvent, "Event on the target bus"),
    Contract("claim-row", Claim, "Row of a claim", is_row=True),
    Contract("latest-row", Latest, "Row of a subject's newest state", is_row=True),
    Contract("breaker-row", models.BreakerRow, "Row of the breaker", is_row=True),
    Contract("slot-row", models.SlotRow, "Row of the limiter", is_row=True),
    Contract("outcome-record", LoggedRecord, "Record in the outcome log"),
)


def schemas() -> dict[str, Schema]:
    """Returns every contract's schema by its name, which is its file's name too."""
    return {contract.name: schema_of(contract) for contract in CONTRACTS}


def schema_of(contract: Contract) -> Schema:
    """Returns the schema of one contract."""
    schema = TypeAdapter(contract.model).json_schema(by_alias=not contract.is_row)
    for part in (schema, *schema.get("$defs", {}).values()):
        _tidy(part)
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:genesys-once:v{VERSION}:{contract.name}",
        "title": contract.title,
    }
    parts = schema.pop("$defs", {})
    return head | schema | ({"$defs": parts} if parts else {})


def _tidy(schema: Schema) -> None:
    """Leaves what a reader needs: no made-up titles, no nulls that are never written.

    A reader of a contract must accept new fields, so nothing is forbidden here; the project's own
    checks forbid what is not declared (`closed`).
    """
    schema.pop("additionalProperties", None)
    schema.pop("title", None)
    if "description" in schema:
        schema["description"] = " ".join(schema["description"].split())
    for name, part in schema.get("properties", {}).items():
        part.pop("title", None)
        part.pop("default", None)
        choices = [choice for choice in part.get("anyOf", []) if choice != {"type": "null"}]
        if len(choices) == 1:
            del part["anyOf"]
            part = schema["properties"][name] = choices[0] | part
        if "$ref" not in part:
            text = part.get("description") or _COMMON.get(name, "")
            part |= {"description": " ".join(text.split())} if text else {}


def closed(schema: Any) -> Any:
    """Returns the same schema, but fields that are not declared are errors: for our own output."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(part) for name, part in schema.items()}
    if isinstance(inner.get("properties"), dict) and "type" in inner:
        inner.setdefault("additionalProperties", False)
    return inner


def text_of(schema: Schema) -> str:
    """Writes a schema with one line for each field."""
    return f"{_written(schema, '', is_open=True)}\n"


def _written(value: Any, indent: str, is_open: bool) -> str:
    if not is_open:
        return json.dumps(value, ensure_ascii=False)
    lines = []
    for name, inner in value.items():
        is_inner_open = name in ("properties", "$defs") or "properties" in inner
        lines.append(f'{indent}  "{name}": {_written(inner, f"{indent}  ", is_inner_open)}')
    return "\n".join(["{", ",\n".join(lines), f"{indent}}}"])
