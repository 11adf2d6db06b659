"""What the audit keeps of each text of a capture. It runs the real enrichment, and since it needs
no other text it can run beside the audit itself, in processes of its own.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any, NamedTuple

from enrichment.batch import enrich
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from once.audit.capture import Place, Text
from once.audit.clock import milliseconds
from once.audit.rivals import Read, body
from once.audit.rivals import topic as topic_of
from once.audit.shapes import Fields, shape_of
from once.audit.shown import harmless
from once.normalise import sqs_record, would_write
from once.records import OutcomeRecord

_WRAPPERS = ("body", "Body", "Message", "requestPayload")
_LAYERS = 4


class Fact(NamedTuple):
    """One event. All that could be long, or somebody's, is a hash; 0 stands for what is missing."""

    place: Place
    message: int
    arrived_ms: int | None
    family: str
    topic: str
    subject: str
    subject_id: str
    """Whose event it is, in clear: it leaves the audit only as the report shows ids."""
    key: int
    latest: int | None
    about: int
    occurred_ms: int
    window_ms: int
    published_ms: int | None
    event_id: int
    envelope: int
    correlation: int
    source: str
    """In clear, as `subject_id` is."""
    organisation: int
    order: int
    note: str
    replayed: bool
    read: Read


class Parked(NamedTuple):
    """A text without an event that could be decided on."""

    place: Place
    arrived_ms: int | None
    reason: str
    detail: str
    text: str | None
    """Only where another try with a time could help."""


class Recorded(NamedTuple):
    """A line of an outcome log."""

    place: Place
    record: OutcomeRecord


class Facts(NamedTuple):
    found: list[Fact | Parked | Recorded]
    fields: Fields


def facts(texts: Sequence[Text], *, with_shapes: bool) -> Facts:
    """The facts of some texts, in their order."""
    found: list[Fact | Parked | Recorded] = []
    fields: Fields = Counter()
    for text in texts:
        for place, record in _records(text):
            if isinstance(record, OutcomeRecord):
                found.append(Recorded(place, record))
                continue
            fact, event = _fact(place, record)
            found.append(fact)
            if with_shapes and isinstance(fact, Fact):
                fields.update(shape_of(fact.family, body(event)))
    return Facts(found, fields)


def again(parked: Parked, clock_ms: int) -> Fact | Parked:
    """A text without any time, read as if the queue had got it at `clock_ms`."""
    record = _record(parked.text or "", clock_ms)
    fact, _ = _fact(parked.place, record)
    return fact


def _records(text: Text) -> Iterator[tuple[Place, dict[str, Any] | OutcomeRecord]]:
    """The queue messages of a text, or its lines of an outcome log without the metrics there."""
    value = _parsed(text.text)
    inner = value.get("logEvents") if isinstance(value, dict) else None
    if not isinstance(inner, list):
        record = _one(text.text, value, text.arrived_ms)
        if record is not None:
            yield text.place, record
        return
    for number, event in enumerate(inner, text.place.item):
        record = _one(json.dumps(event), event, None)
        if record is not None:
            yield text.place._replace(item=number), record


def _one(text: str, value: Any, arrived_ms: int | None) -> dict[str, Any] | OutcomeRecord | None:
    if not isinstance(value, dict):
        return _record(text, arrived_ms)
    message = value.get("message", value.get("@message"))
    if type(message) is str and "detail" not in value:
        arrived = value.get("ingestionTime") or value.get("timestamp") or value.get("@timestamp")
        return _one(message, _parsed(message), milliseconds(arrived) or arrived_ms)
    record = sqs_record(value)
    if record is not None:
        return record
    if "_aws" in value:
        return None
    if "messageId" in value and "outcome" in value:
        # Somebody's own event may have such fields too.
        with suppress(ValidationError, TypeError):
            return OutcomeRecord(recorded_at_ms=arrived_ms or 0, **value)
    return _record(text, arrived_ms)


def _record(text: str, arrived_ms: int | None) -> dict[str, Any]:
    attributes = {} if arrived_ms is None else {"SentTimestamp": str(arrived_ms)}
    return {"messageId": "-", "body": text, "attributes": attributes}


def _fact(place: Place, record: dict[str, Any]) -> tuple[Fact | Parked, Any]:
    (element,) = enrich([record], would_write)
    attributes = record.get("attributes")
    arrived_ms = (
        milliseconds(attributes.get("SentTimestamp")) if isinstance(attributes, dict) else None
    )
    if element["kind"] != "event":
        retry = record["body"] if element["reason"] == "NO_TIME" else None
        retry = retry if type(retry) is str else None
        parked = Parked(place, arrived_ms, element["reason"], element["detail"], retry)
        return parked, None
    event = _inner(record["body"])
    key, policy, trace = element["key"], element["policy"], element["trace"]
    latest = policy.get("latest")
    pk = key["pk"]
    message_id = record["messageId"]
    source = trace.get("source", "")
    read = Read.of(event)
    return Fact(
        place,
        number(f"message {message_id}") if message_id != "-" else 0,
        arrived_ms,
        harmless(element["family"]),
        _template(event, element["topic"]),
        element["subject"]["type"],
        element["subject"]["id"],
        number(f"{pk}\n{key['sk']}"),
        number(f"latest {pk}\n{latest}") if latest is not None else None,
        number(f"subject {pk}"),
        element["occurredAtMs"],
        policy["windowMs"],
        milliseconds(element.get("publishedAt")) or milliseconds(event.get("time")),
        _number_of(trace.get("eventId")),
        _number_of(trace.get("envelopeId")),
        _number_of(trace.get("correlationId")),
        source,
        _number_of(element.get("organizationId")),
        number(to_json(body(event))),
        element.get("note", ""),
        "replayName" in trace,
        Read(
            _part(read.envelope),
            _part(read.entity),
            _part(read.state),
            _part(read.content),
            milliseconds(read.happened_ms),
        ),
    ), event


def _inner(value: Any) -> dict[str, Any]:
    """The event that a handler would see, inside what SNS, SQS and others wrap around it."""
    for _ in range(_LAYERS):
        if type(value) is str:
            value = _parsed(value)
        if type(value) is not dict or "detail" in value or "eventBody" in value:
            break
        inner = next((value[name] for name in _WRAPPERS if name in value), None)
        if type(inner) is not dict and not (type(inner) is str and inner[:1] in ("{", '"')):
            break
        value = inner
    return value if type(value) is dict else {}


def _template(event: dict[str, Any], topic: str) -> str:
    """The topic's template, as DetailTypes has it; empty for what is not Genesys' own."""
    template = event.get("detail-type")
    if type(template) is str and template.startswith("v2."):
        return harmless(template)
    return harmless(topic_of(event) or topic)


def number(text: str | bytes) -> int:
    """A hash that fits a row id of SQLite; of a million texts two are alike once in 10^7 runs."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return int.from_bytes(blake2b(data, digest_size=8).digest(), signed=True)


def _number_of(text: str | None) -> int:
    return number(text) if text else 0


def _part(text: str | None) -> int | None:
    return number(text) if text else None


def _parsed(text: Any) -> Any:
    try:
        return from_json(text, allow_inf_nan=False)
    except (ValueError, TypeError):
        return None
