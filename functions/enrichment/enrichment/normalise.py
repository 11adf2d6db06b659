"""Turns one queue message into one element. Never raises, and never reads a clock."""

import json
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from enrichment.declared import declared
from enrichment.elements import VERSION, Event, ParkedReason
from enrichment.envelope import Opened, UnfitError, open_event, organization_of, parse
from enrichment.homemade import Shape
from enrichment.identity import Json, generic, ids_of
from enrichment.keys import idempotency_key, part, partition
from enrichment.times import AHEAD_MS, as_iso, choose, iso, maybe_ms, window_of

Element = dict[str, Any]


def normalise(record: Any) -> Element:
    """The element of one SQS record: an event, or parked with the reason why it is none."""
    sent_ms: int | None
    try:
        message_id = record["messageId"]
        text = record["body"]
        sent_ms = int(record["attributes"]["SentTimestamp"])
    except (LookupError, TypeError, ValueError):
        message_id, text, sent_ms = _odd_record(record)
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


def _odd_record(record: Any) -> tuple[str, Any, int | None]:
    if not isinstance(record, dict):
        return "", None, None
    message_id, attributes = record.get("messageId"), record.get("attributes")
    sent = attributes.get("SentTimestamp") if isinstance(attributes, dict) else None
    return message_id if isinstance(message_id, str) else "", record.get("body"), maybe_ms(sent)


def _parked(message_id: str, text: Any, reason: ParkedReason, detail: str) -> Element:
    if not isinstance(text, str):
        text = "" if text is None else json.dumps(text, default=repr)
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
        first = error.errors(include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UnfitError(
            ParkedReason.INVALID_REPLAY,
            f"The element to replay is not one of ours: {where}: {first['msg']}.",
        ) from None
    return {**value, "messageId": message_id}


def _event(message_id: str, opened: Opened, sent_ms: int | None) -> Element:
    template, topic, body, detail, envelope = opened
    published = detail.get("timestamp")
    event_id = None
    if template is None:
        shape = Shape(body, topic)
        identity = shape.identify()
        event_id = shape.event_id
        published = shape.time
    else:
        family = declared(template)
        identity = family.identify(body, topic) if family else generic(template, topic, body)
    kind, subject_id, subject_part, sk, business_ms, state, lane, found, note = identity
    family_name, subject_type, exact, latest = kind
    source = envelope.get("source")
    organization_id = organization_of(source) if type(source) is str else None
    if organization_id is None or subject_id is None:
        organization_id, subject_id = _subject(subject_type, organization_id, subject_id, body)
        subject_part = part(subject_id)

    if business_ms is not None and sent_ms is not None and business_ms <= sent_ms + AHEAD_MS:
        ms, window_ms, orderable = business_ms, 0 if exact else window_of(business_ms), True
    else:
        moment = choose(business_ms, maybe_ms(published), envelope.get("time"), sent_ms)
        if moment is None:
            raise UnfitError(
                ParkedReason.NO_TIME, "Neither the event nor its message tells a time."
            )
        ms, window_ms, orderable = moment
        if business_ms is not None and ms != business_ms:
            ahead = f"the time in the body is ahead of the queue's: {iso(business_ms)}"
            note = f"{note}; {ahead}" if note else ahead

    pk = partition(organization_id, subject_type) + subject_part
    policy: dict[str, Any] = {"windowMs": 0 if exact else window_ms, "order": "none"}
    if latest and orderable:
        policy["order"] = "latest"
        policy["latest"] = f"latest/{family_name}{lane}"
    element: Element = {
        "messageId": message_id,
        "kind": "event",
        "lane": pk,
        "version": VERSION,
        "family": family_name,
        "topic": topic,
        "subject": {"type": subject_type, "id": subject_id},
        "occurredAt": iso(ms),
        "occurredAtMs": ms,
        "ids": _ids(subject_type, subject_id, found, body),
        "key": {"pk": pk, "sk": sk},
        "idempotencyKey": idempotency_key(pk, sk),
        "policy": policy,
        "body": body,
        "trace": _trace(envelope, detail, event_id),
    }
    if organization_id is not None:
        element["organizationId"] = organization_id
    if state:
        element["state"] = state
    published_at = as_iso(published)
    if published_at is not None:
        element["publishedAt"] = published_at
    if note is not None:
        element["note"] = note
    return element


def _subject(
    subject_type: str, organization_id: str | None, subject_id: str | None, body: Json
) -> tuple[str | None, str]:
    """Organisation and subject, where the source tells no organisation or the event no subject."""
    if organization_id is None:
        own = body.get("organizationId")
        organization_id = own if type(own) is str and own else None
    if subject_id is None and subject_type == "organization":
        subject_id = organization_id
    if subject_id is None:
        raise UnfitError(
            ParkedReason.NO_SUBJECT,
            f"Neither the body nor the topic says which {subject_type} the event is about.",
        )
    return organization_id, subject_id


def _ids(
    subject_type: str, subject_id: str, found: Mapping[str, str], body: Json
) -> dict[str, str]:
    ids = ids_of(body)
    if found:
        ids = {**found, **ids}
    if "id" in ids and ids["id"] == subject_id:
        del ids["id"]
    ids.setdefault(f"{subject_type}Id", subject_id)
    return ids


def _trace(envelope: Json, detail: Json, event_id: str | None) -> dict[str, str]:
    trace = {}
    if event_id:
        trace["eventId"] = event_id
    value = envelope.get("id")
    if type(value) is str:
        trace["envelopeId"] = value
    metadata = detail.get("metadata")
    if type(metadata) is dict:
        value = metadata.get("CorrelationId") or metadata.get("correlationId")
        if type(value) is str:
            trace["correlationId"] = value
    value = envelope.get("replay-name")
    if type(value) is str:
        trace["replayName"] = value
    value = envelope.get("source")
    if type(value) is str:
        trace["source"] = value
    return trace
