"""The list of contracts, each made into a JSON Schema that a person can read."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from once_data_action.request import WebhookRequest
from once_enrichment.contract import VERSION
from once_enrichment.elements import Copy, Event, Parked, Retry
from pydantic import TypeAdapter

from once.operate.claims import Claim, Latest
from once.records import LoggedRecord
from once.run.report import Report
from schemas import models
from schemas.descriptions import DESCRIPTIONS

Schema = dict[str, Any]


@dataclass(frozen=True)
class Contract:
    """`kept_nulls`: what is absent is null."""

    name: str
    model: Any
    title: str
    kept_nulls: bool = False
    snake: bool = False


CONTRACTS = (
    Contract("event", Event, "Normalised event"),
    Contract("copy", Copy, "Copy within a batch"),
    Contract("parked", Parked, "Message that holds no event"),
    Contract("retry", Retry, "Event that could not be prepared now"),
    Contract("action-request", models.ActionRequest, "What the data action is asked"),
    Contract("webhook-request", WebhookRequest, "What a webhook receives"),
    Contract("bus-event", models.BusEvent, "Event on the target bus"),
    Contract("claim-row", Claim, "Row of a claim", snake=True),
    Contract("latest-row", Latest, "Row of a subject's latest event", snake=True),
    Contract("slot-row", models.SlotRow, "Row of the limiter", snake=True),
    Contract("breaker-row", models.BreakerRow, "Row of the breaker", snake=True),
    Contract("pace-begin", models.PaceBegin, "What pacing is asked before the calls"),
    Contract("pace-begin-answer", models.PaceBeginAnswer, "What may be called now"),
    Contract("pace-end", models.PaceEnd, "What pacing is asked after the calls"),
    Contract("pace-end-answer", models.PaceEndAnswer, "When what waits is seen again"),
    Contract("outcome-record", LoggedRecord, "Record in the outcome log"),
    Contract("run-report", Report, "Report of `once run --report`", kept_nulls=True),
)


def schemas() -> dict[str, Schema]:
    """Every contract by its name, which is its file's name too."""
    return {contract.name: of_contract(contract) for contract in CONTRACTS}


def of_contract(contract: Contract) -> Schema:
    """The schema of one contract."""
    adapter: TypeAdapter[Any] = TypeAdapter(contract.model)
    schema = adapter.json_schema(by_alias=not contract.snake)
    for part_name, part in {contract.model.__name__: schema, **schema.get("$defs", {})}.items():
        _tidy(part, part_name, contract)
    schema.pop("title", None)
    schema.pop("additionalProperties", None)
    first = {name: schema[name] for name in ("description", "type") if name in schema}
    last = {"$defs": schema.pop("$defs", {})}
    return _head(contract.name) | {"title": contract.title} | first | schema | last


def undescribed(schema: Schema) -> Iterator[str]:
    """Fields that say nothing about themselves."""
    parts = schema.get("$defs", {})
    for part in (schema, *parts.values()):
        for field, inner in part.get("properties", {}).items():
            there = parts[inner["$ref"].rpartition("/")[2]] if "$ref" in inner else {}
            if "description" not in inner | there:
                yield field


def unused_descriptions(schemas: dict[str, Schema]) -> Iterator[str]:
    """Yields the descriptions that no field has."""
    parts = [part for one in schemas.values() for part in (one, *one.get("$defs", {}).values())]
    written = {
        (field, inner.get("description"))
        for part in parts
        for field, inner in part.get("properties", {}).items()
    }
    for name, text in DESCRIPTIONS.items():
        if (name.rpartition(".")[2], text) not in written:
            yield name


def closed(schema: Any) -> Any:
    """The same schema, but what is not declared is an error: for what we ourselves produce."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(part) for name, part in schema.items()}
    if isinstance(inner.get("properties"), dict) and "type" in inner:
        inner.setdefault("additionalProperties", False)
    return inner


def _tidy(schema: Schema, name: str, contract: Contract) -> None:
    """Leaves what a reader needs: no made-up titles, no nulls that are never written.

    Whoever reads a contract must bear fields that are new, so nothing is forbidden here; our own
    checks forbid what is not declared (`closed`).
    """
    schema.pop("additionalProperties", None) if "properties" in schema else None
    schema.pop("title", None)
    if schema.get("description") and schema.get("enum"):
        schema["description"] = " ".join(schema["description"].split())
    for field, part in schema.get("properties", {}).items():
        part.pop("title", None)
        if not contract.kept_nulls:
            part.pop("default", None)
            choices = part.get("anyOf", [])
            left = [choice for choice in choices if choice != {"type": "null"}]
            if len(left) == 1 and len(choices) == 2:
                del part["anyOf"]
                part.update({k: v for k, v in left[0].items() if k not in part})
        if "description" in part:
            part["description"] = " ".join(part["description"].split())
        elif "$ref" not in part:
            text = DESCRIPTIONS.get(f"{name}.{field}") or DESCRIPTIONS.get(field)
            part |= {"description": text} if text else {}


def _head(name: str) -> Schema:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:genesys-once:v{VERSION}:{name}",
    }
