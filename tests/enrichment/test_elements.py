"""The enrichment writes plain dicts, since models would cost it more than all else. What it writes
and what the models list are one list of fields."""

from collections.abc import Iterator
from typing import Any

from once_enrichment.batch import enrich
from once_enrichment.contract import CANARY, RetryReason
from once_enrichment.elements import (
    Copy,
    Element,
    Event,
    Key,
    Parked,
    Policy,
    Reference,
    Retry,
    Route,
    Subject,
    Trace,
)
from once_enrichment.overflow import WriteError
from once_enrichment.routes_file import read
from pydantic import BaseModel, TypeAdapter

from tests.enrichment.examples import presence
from tests.enrichment.sending import record

MODELS = (Event, Copy, Parked, Retry, Key, Policy, Reference, Route, Subject, Trace)
LARGE = "x" * 300_000


def kept(key: str, content: bytes) -> dict[str, str]:  # noqa: ARG001
    return {"bucket": "overflow", "key": key}


def refused(key: str, content: bytes) -> dict[str, str]:
    raise WriteError(RetryReason.OVERFLOW_FAILED, f"{key} of {len(content)} bytes was not taken.")


def written(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, BaseModel):
        for name in value.model_fields_set:
            yield type(value).__name__, name
            yield from written(getattr(value, name))


ROUTES = read(
    "routes.toml",
    """
    [[routes]]
    family = "user.presence"
    max_age = "1m"
    action = "a"
    inputs = { key = "idempotencyKey" }
    [[routes]]
    family = "*"
    action = "none"
    """,
)


def test_each_field_that_the_models_list_is_written_and_no_other() -> None:
    event = presence()
    event["detail"]["metadata"]["action"] = "Associated"
    own = {"conversation_id": "c", "event_id": "1", "state": "new"}
    free = {"source": "shop", "detail-type": "Order", "detail": {**own, "timestamp": "yesterday"}}
    events = [
        event,
        {**event, "id": "another"},
        {**presence(modifiedDate="2125-03-12T09:00:00.000Z"), "replay-name": "tuesday"},
        {**free, "time": "2025-03-12T10:00:00Z"},
        {**free, "detail": {**own, "event_id": "2", "text": LARGE}},
        "no event",
        f"no event {LARGE}",
    ]
    batch = [record(one, str(number)) for number, one in enumerate(events)]
    batch[0]["messageAttributes"] = {CANARY: {"stringValue": "run", "dataType": "String"}}
    answered = [*enrich(batch, kept, ROUTES), *enrich(batch[4:5], refused)]
    found = TypeAdapter(list[Element]).validate_python(answered)
    listed = {(model.__name__, field) for model in MODELS for field in model.model_fields}
    assert {name for one in found for name in written(one)} == listed
