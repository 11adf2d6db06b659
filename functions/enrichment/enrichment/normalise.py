"""Turns one queue message into one element. Never raises, and never reads a clock."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from enrichment.elements import VERSION, Event, ParkedReason
from enrichment.envelope import Opened, UnfitError, open_event, organization_of, parse
from enrichment.homemade import Shape
from enrichment.identity import Identity, identify, top_ids
from enrichment.keys import compose, idempotency_key
from enrichment.times import choose, iso, maybe_ms

Element = dict[str, Any]


def normalise(record: Any) -> Element:
    """The element of one SQS record: an event, or parked with the reason why it is none."""
    message_id, text, sent_ms = _record(record)
    try:
        if text is None:
            raise UnfitError(ParkedReason.BODY_MISSING, "The message has no body.")
        value = parse(text) if type(text) is str else text
        if type(value) is dict and value.get("kind") == "event" and "key" in value:
            return _replayed(message_id, value)
        return _event(message_id, open_event(value), sent_ms)
    except UnfitError as unfit:
        return _parked(message_id, text, unfit.reason, unfit.detail)
    except Exception as error:  # one bad message must not fail its whole batch
        detail = f"{type(error).__name__} while normalising: keep this message and report it."
        return _parked(message_id, text, ParkedReason.UNEXPECTED, detail)


def _record(record: Any) -> tuple[str, Any, int | None]:
    if not isinstance(record, Mapping):
        return "", None, None
    message_id = record.get("messageId")
    attributes = record.get("attributes")
    sent = attributes.get("SentTimestamp") if isinstance(attributes, Mapping) else None
    return message_id if isinstance(message_id, str) else "", record.get("body"), maybe_ms(sent)


def _parked(message_id: str, text: Any, reason: ParkedReason, detail: str) -> Element:
    if not isinstance(text, str):
        text = "" if text is None else json.dumps(text, ensure_ascii=True, default=repr)
    return {
        "messageId": message_id,
        "kind": "parked",
        "lane": message_id,
        "reason": reason.value,
        "detail": detail,
        "raw": text.encode("utf-8", "backslashreplace").decode(),
    }


def _replayed(message_id: str, value: Element) -> Element:
    try:
        Event.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UnfitError(
            ParkedReason.INVALID_REPLAY,
            f"A replayed element is not one of ours: {where}: {first['msg']}.",
        ) from None
    return {**value, "messageId": message_id}


def _event(message_id: str, opened: Opened, sent_ms: int | None) -> Element:
    envelope, detail, body = opened.envelope, opened.detail, opened.body
    source = envelope.get("source")
    organization_id = organization_of(source) if type(source) is str else None
    if organization_id is None:
        own = body.get("organizationId")
        organization_id = own if type(own) is str and own else None

    event_id = None
    if opened.template is None:
        shape = Shape(body, opened.topic)
        identity = shape.identify()
        event_id = shape.event_id
        published_ms = maybe_ms(shape.time)
    else:
        identity = identify(opened.template, opened.topic, body, organization_id)
        published_ms = maybe_ms(detail.get("timestamp"))

    subject_type, subject_id = identity.subject_type, identity.subject_id
    if subject_id is None:
        raise UnfitError(
            ParkedReason.NO_SUBJECT,
            f"Neither the body nor the topic says which {subject_type} the event is about.",
        )
    moment = choose(identity.business_ms, published_ms, envelope.get("time"), sent_ms)
    if moment is None:
        raise UnfitError(ParkedReason.NO_TIME, "Neither the event nor its message tells a time.")

    if not _finite(body):
        raise UnfitError(
            ParkedReason.NUMBER_OUT_OF_RANGE,
            "A number in the body is too large to be written as JSON again.",
        )
    pk = compose("", (organization_id or "-", subject_type, subject_id))
    element: Element = {
        "messageId": message_id,
        "kind": "event",
        "lane": pk,
        "version": VERSION,
        "family": identity.family,
        "topic": opened.topic,
        "subject": {"type": subject_type, "id": subject_id},
        "occurredAt": iso(moment.ms),
        "occurredAtMs": moment.ms,
        "ids": _ids(identity, body),
        "key": {"pk": pk, "sk": identity.sk},
        "idempotencyKey": idempotency_key(pk, identity.sk),
        "policy": _policy(identity, moment.window_ms, moment.orderable),
        "body": body,
        "trace": _trace(opened, event_id),
    }
    if organization_id is not None:
        element["organizationId"] = organization_id
    if identity.state is not None:
        element["state"] = identity.state
    if published_ms is not None:
        element["publishedAt"] = iso(published_ms)
    if identity.note is not None:
        element["note"] = identity.note
    return element


def _finite(body: Mapping[str, Any]) -> bool:
    """False where `1e999` was read as infinity, which no JSON writer downstream can repeat."""
    if b"Infinity" not in to_json(body):
        return True
    try:
        json.dumps(body, allow_nan=False)
    except ValueError:
        return False
    return True


def _ids(identity: Identity, body: Mapping[str, Any]) -> dict[str, str]:
    ids = {**identity.found, **top_ids(body)}
    own = ids.pop("id", None)
    ids.setdefault(f"{identity.subject_type}Id", identity.subject_id or "")
    if own is not None and own not in ids.values():
        ids["id"] = own
    return ids


def _policy(identity: Identity, window_ms: int, orderable: bool) -> dict[str, Any]:
    policy: dict[str, Any] = {"windowMs": 0 if identity.exact else window_ms, "order": "none"}
    if identity.latest and orderable:
        policy["order"] = "latest"
        policy["latest"] = f"latest/{identity.family}{identity.lane}"
    return policy


def _trace(opened: Opened, event_id: str | None) -> dict[str, str]:
    envelope = opened.envelope
    metadata = opened.detail.get("metadata")
    correlation_id = None
    if type(metadata) is dict:
        correlation_id = metadata.get("CorrelationId") or metadata.get("correlationId")
    found = {
        "eventId": event_id,
        "envelopeId": envelope.get("id"),
        "correlationId": correlation_id,
        "replayName": envelope.get("replay-name"),
        "source": envelope.get("source"),
    }
    return {name: value for name, value in found.items() if type(value) is str and value}
