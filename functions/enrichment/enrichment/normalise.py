"""Turns one queue message into one element. Never raises, and never reads a clock."""

from math import isinf
from typing import Any

from pydantic_core import ValidationError, from_json, to_json

from enrichment import topics
from enrichment.budget import Budget, TooSlowError
from enrichment.contract import VERSION, ParkedReason
from enrichment.custom_events import Shape
from enrichment.declared import declared
from enrichment.envelope import (
    PARTNER,
    Opened,
    UnfitError,
    open_event,
    organization_of,
    parse,
)
from enrichment.identity import Json, generic, ids_of
from enrichment.keys import idempotency_key, opaque, part, partition
from enrichment.message import Element, Message, as_text, read
from enrichment.times import AHEAD_MS, as_iso, choose, iso, maybe_ms, window_of

_LONG_CHARS = 4096  # a shorter message cannot make an element's small parts large
_LONGEST_PART = 160
_LONGEST_NAME = 64
_MOST_IDS = 24
# U+FFFE and U+FFFF: of what JSON does not escape, all that SQS takes in no message. Its reference
# of SendMessage said for a while that it puts U+FFFD in their place, and now that it refuses them.
_NOT_FOR_SQS = ("\ufffe".encode(), "\uffff".encode())
_BOTH_BEGIN = b"\xef"  # one byte is looked for a dozen times as fast as two
_REPLACEMENT = "\ufffd".encode()


def normalise(record: Any) -> Element:
    """The element of one SQS record: an event, or parked with the reason why it is none."""
    return prepare(record, Budget())[0]


def prepare(record: Any, budget: Budget) -> tuple[Element, bytes]:
    """The element of one SQS record, and the same as JSON."""
    message = read(record)
    try:
        budget.start()
        try:
            return _written(_element(message))
        finally:
            budget.end()
    except UnfitError as unfit:
        parked = _parked(message, unfit.reason, unfit.detail)
    except TooSlowError:
        detail = "It took too much time to normalise: keep this message and report it."
        parked = _parked(message, ParkedReason.TOO_SLOW, detail)
    except Exception as error:  # one bad message must not fail its whole batch
        detail = f"{type(error).__name__} while normalising: keep this message and report it."
        parked = _parked(message, ParkedReason.UNEXPECTED, detail)
    return _written(parked)


def _written(element: Element) -> tuple[Element, bytes]:
    """The element and the same as JSON, in characters with which it can be parked.

    Keys are computed by now, and escape what is replaced here.
    """
    text = to_json(element)
    if _BOTH_BEGIN not in text:
        return element, text
    for character in _NOT_FOR_SQS:
        text = text.replace(character, _REPLACEMENT)
    return from_json(text), text


def _element(message: Message) -> Element:
    value = parse(message.text)
    if type(value) is dict and "key" in value and value.get("kind") == "event":
        return _replayed(message, value)
    element = _event(message, open_event(value))
    if len(message.text) > _LONG_CHARS:
        _cut(element)
    return element


def _parked(message: Message, reason: ParkedReason, detail: str) -> Element:
    parked: Element = {
        **message.delivery,
        "kind": "parked",
        "subjectKey": message.id,
        "reason": reason.value,
        "detail": detail,
        "raw": as_text(message.text),
    }
    if message.sent_ms is not None:
        parked["firstSentAtMs"] = message.sent_ms
    return parked


def _replayed(message: Message, value: Element) -> Element:
    """An element that a person sends again keeps the key it was parked with."""
    # Rare, and its models would cost every cold start more than all else.
    from enrichment.elements import Event

    _refuse_large_numbers(value.values())
    wrong = "its idempotencyKey is not that of its key"
    try:
        event = Event.model_validate({"subjectKey": "", **value, **message.delivery})
        if event.idempotency_key == idempotency_key(event.key.pk, event.key.sk):
            written = event.model_dump(by_alias=True, exclude_none=True)
            return {**written, "subjectKey": event.key.pk}
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        wrong = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    raise UnfitError(
        ParkedReason.INVALID_REPLAY,
        f"This is no element as the enrichment writes them ({wrong}): replay what was parked.",
    )


def _event(message: Message, opened: Opened) -> Element:
    sent_ms = message.sent_ms
    template, topic, body, detail, envelope = opened
    _refuse_large_numbers(body.values())
    event_id = None
    published = detail.get("timestamp")
    if template is None:
        shape = Shape(body, topic)
        identity = shape.identify()
        event_id, published, topic, is_free = shape.event_id, shape.time, shape.topic, True
    else:
        known = declared(template)
        is_free = known is None and not _is_of_genesys(envelope, template)
        identity = known.identify(body, topic) if known else generic(template, topic, body)
        if known is None:
            topic = topics.filled(template, map(opaque, topics.slots(template, topic)))
    kind, subject_id, subject_part, sk, business_ms, state, latest, found, note = identity
    family, subject_type, exact = kind

    source = envelope.get("source")
    organization_id = organization_of(source) if type(source) is str else None
    if organization_id is None or subject_id is None:
        organization_id, subject_id = _subject(subject_type, organization_id, subject_id, body)
        subject_part = subject_part or part(subject_id)
    pk = partition(organization_id, subject_type) + subject_part

    if business_ms is not None and sent_ms is not None and business_ms <= sent_ms + AHEAD_MS:
        ms, orderable = business_ms, True
        window_ms = 0 if exact else window_of(ms)
    else:
        moment = choose(business_ms, maybe_ms(published), envelope.get("time"), sent_ms)
        if moment is None:
            raise UnfitError(
                ParkedReason.NO_TIME, "Neither the event nor its message tells a time."
            )
        ms, window_ms, orderable = moment
        window_ms = 0 if exact else window_ms
        if business_ms is not None and ms != business_ms:
            ahead = f"the time in the body is ahead of the queue's: {iso(business_ms)}"
            note = f"{note}; {ahead}" if note else ahead

    ids = ids_of(body)
    if found:
        ids = {**found, **ids}
    if "id" in ids and ids["id"] == subject_id:
        del ids["id"]
    ids.setdefault(f"{subject_type}Id", subject_id)

    element: Element = {
        **message.delivery,
        "kind": "event",
        "subjectKey": pk,
        "version": VERSION,
        "family": family,
        "topic": topic,
        "subject": {"type": subject_type, "id": subject_id},
        "occurredAt": iso(ms),
        "occurredAtMs": ms,
        "ids": ids,
        "key": {"pk": pk, "sk": sk},
        "idempotencyKey": idempotency_key(pk, sk),
        "policy": (
            {"windowMs": window_ms, "order": "latest", "latest": latest}
            if latest and orderable
            else {"windowMs": window_ms, "order": "none"}
        ),
        "body": body,
        "trace": _trace(envelope, detail, event_id),
    }
    if organization_id is not None:
        element["organizationId"] = organization_id
    if is_free:
        element["freeFamily"] = True
    if state:
        element["state"] = state
    published_at = as_iso(published)
    if published_at is not None:
        element["publishedAt"] = published_at
    if note is not None:
        element["note"] = note
    return element


def _is_of_genesys(envelope: Json, template: str) -> bool:
    """Whether Genesys itself named the topic; else it may be any text."""
    source = envelope.get("source")
    return envelope.get("detail-type") == template and str(source).startswith(PARTNER)


def _subject(
    subject_type: str, organization_id: str | None, subject_id: str | None, body: Json
) -> tuple[str | None, str]:
    """Organisation and subject, where the source lacks the one or the event the other."""
    if organization_id is None:
        own = body.get("organizationId")
        organization_id = opaque(own).lstrip("~") if type(own) is str and own else None
    if subject_id is None and subject_type == "organization":
        subject_id = organization_id
    if subject_id is None:
        raise UnfitError(
            ParkedReason.NO_SUBJECT,
            f"Neither the body nor the topic says which {subject_type} the event is about.",
        )
    return organization_id, subject_id


def _trace(envelope: Json, detail: Json, event_id: str | None) -> dict[str, str]:
    trace: dict[str, str] = {} if event_id is None else {"eventId": event_id}
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


def _refuse_large_numbers(values: Any) -> None:
    """`1e999` is read as infinity, which no JSON writer on the way could repeat; and for a whole
    number of more than 64 bits some engines of JSONata refuse the whole batch."""
    for value in values:
        kind = type(value)
        if kind is str or kind is bool:
            continue
        if kind is dict:
            _refuse_large_numbers(value.values())
        elif kind is list:
            _refuse_large_numbers(value)
        elif (kind is int and value.bit_length() > 63) or (kind is float and isinf(value)):
            raise UnfitError(
                ParkedReason.NUMBER_OUT_OF_RANGE,
                "A number in the event is too large for JSON readers on the way (whole numbers "
                "end at 64 bits): its publisher must correct it, or send it as text.",
            )


def _cut(element: Element) -> None:
    """Cuts what only a mistaken or hostile publisher makes long. Keys are computed by now."""
    for name in ("state", "organizationId"):
        if name in element:
            element[name] = element[name][:_LONGEST_PART]
    element["subject"]["id"] = element["subject"]["id"][:_LONGEST_PART]
    short = [(name, value) for name, value in element["ids"].items() if len(name) <= _LONGEST_NAME]
    element["ids"] = {name: value[:_LONGEST_PART] for name, value in short[:_MOST_IDS]}
    element["topic"] = _ascii(element["topic"])
    element["trace"] = {n: _ascii(value[:_LONGEST_PART]) for n, value in element["trace"].items()}


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode()
