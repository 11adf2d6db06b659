"""Turns one queue message into one element. Never raises, and never reads a clock."""

from math import isinf
from typing import Any

from pydantic_core import ValidationError, from_json, to_json

from once_enrichment import custom_events, declared
from once_enrichment.budget import TooSlowError, bounded
from once_enrichment.contract import VERSION, ParkedReason
from once_enrichment.envelope import Json, Opened, UnfitError, open_event, organization_of, parse
from once_enrichment.families import BY_TOPIC
from once_enrichment.identity import Identity, generic, ids_of, topic_in_log
from once_enrichment.keys import idempotency_key, opaque, part, partition_key
from once_enrichment.message import Element, Message, as_text, read
from once_enrichment.routes import Routes
from once_enrichment.times import Moment, choose, iso, maybe_ms

_LONG_CHARS = 4096  # a shorter message cannot make an element's small parts large
_LONGEST_PART = 160
_LONGEST_NAME = 64
_MOST_IDS = 24
# U+FFFE and U+FFFF: of what JSON does not escape, all that SQS takes in no message. Its reference
# of SendMessage said for a while that it puts U+FFFD in their place, and now that it refuses them.
_NOT_FOR_SQS = ("\ufffe".encode(), "\uffff".encode())
_REPLACEMENT = "\ufffd".encode()


def normalise(record: Any) -> Element:
    """Returns the element of one SQS record: an event, or parked with the reason."""
    return prepare(record)[0]


def prepare(record: Any, routes: Routes | None = None) -> tuple[Element, bytes]:
    """Returns the element of one SQS record, and the same as JSON."""
    message = read(record)
    try:
        with bounded():
            element = _element(message)
            # A body that is in the bucket cannot be matched again: its event keeps its route.
            if routes is not None and "body" in element and not message.is_canary:
                routes.add_to(element)
            return _written(element)
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
    """Returns the element and the same as JSON, in characters with which SQS takes it.

    Keys are computed by now, and escape what is replaced here.
    """
    text = written = to_json(element)
    for character in _NOT_FOR_SQS:
        text = text.replace(character, _REPLACEMENT)
    return (element if text == written else from_json(text)), text


def _element(message: Message) -> Element:
    value = parse(message.text)
    if isinstance(value, dict) and "key" in value and value.get("kind") == "event":
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
    """Returns an element that a person sends again, with the key it was parked with."""
    # Rare, and its models would cost every cold start more than all else.
    from once_enrichment.elements import Event

    _refuse_large_numbers(value.values())
    wrong = "its idempotencyKey is not that of its key"
    try:
        of_message = {**message.delivery, "canary": message.is_canary or None}
        event = Event.model_validate({"subjectKey": "", **value, **of_message})
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
    _refuse_large_numbers(opened.body.values())
    _refuse_large_numbers(opened.metadata.values())
    topic, published, event_id = opened.topic, opened.published, None
    if opened.template is None:
        custom = custom_events.identify(opened)
        identity, topic, published = custom.identity, custom.topic, custom.published
        event_id = custom.event_id
    else:
        family = BY_TOPIC.get(opened.template)
        if family:
            identity = declared.identify(opened, opened.template, family)
        else:
            identity = generic(opened, opened.template)
            topic = topic_in_log(opened, opened.template)
    moment = choose(identity.time_ms, published, opened.envelope.get("time"), message.sent_ms)
    if moment is None:
        raise UnfitError(ParkedReason.NO_TIME, "Neither the event nor its message tells a time.")

    source = opened.envelope.get("source")
    organization_id = organization_of(source) if isinstance(source, str) else None
    organization_id, subject_id = _subject(identity, organization_id, opened.body)
    subject = opaque(subject_id) if identity.is_hidden else part(subject_id)
    pk = partition_key(organization_id, identity.subject_type, subject)

    element: Element = {
        **message.delivery,
        "kind": "event",
        "subjectKey": pk,
        "version": VERSION,
        "family": identity.family,
        "topic": topic,
        "subject": {"type": identity.subject_type, "id": subject_id},
        "occurredAt": iso(moment.ms),
        "occurredAtMs": moment.ms,
        "ids": _ids(identity, subject_id, opened.body),
        "key": {"pk": pk, "sk": identity.sk},
        "idempotencyKey": idempotency_key(pk, identity.sk),
        "policy": _policy(identity, moment),
        "body": opened.body,
        "trace": _trace(opened, event_id),
    }
    published_ms = maybe_ms(published)
    more = {
        "organizationId": organization_id,
        "freeFamily": opened.template not in BY_TOPIC and not opened.is_genuine,
        "state": identity.state,
        "publishedAt": None if published_ms is None else iso(published_ms),
        "metadata": opened.metadata,
        "note": _note(identity, moment),
        "canary": message.is_canary,
    }
    return element | {name: value for name, value in more.items() if value}


def _policy(identity: Identity, moment: Moment) -> Element:
    """Says how copies are told. A state that no clock can order is windowed."""
    if identity.order == "none" or not moment.is_orderable:
        return {"windowMs": 0 if identity.is_exact else moment.window_ms, "order": "none"}
    is_windowed = not identity.is_exact and identity.order == "latest"
    return {
        "windowMs": moment.window_ms if is_windowed else 0,
        "order": identity.order,
        "latest": identity.latest,
    }


def _note(identity: Identity, moment: Moment) -> str:
    """Says what is not as declared."""
    notes = [] if identity.note is None else [identity.note]
    if identity.time_ms is not None and moment.ms != identity.time_ms:
        notes.append(f"the time in the body is ahead of the queue's: {iso(identity.time_ms)}")
    if identity.order == "changes" and not moment.is_orderable:
        notes.append("no timestamp says when: the state cannot be ordered")
    return "; ".join(notes)


def _ids(identity: Identity, subject_id: str, body: Json) -> dict[str, str]:
    ids = {**identity.ids, **ids_of(body)}
    if ids.get("id") == subject_id:
        del ids["id"]
    ids.setdefault(f"{identity.subject_type}Id", subject_id)
    return ids


def _subject(identity: Identity, organization_id: str | None, body: Json) -> tuple[str | None, str]:
    """Returns organisation and subject, if the source lacks the one or the event the other."""
    subject_id = identity.subject_id
    if organization_id is None:
        own = body.get("organizationId")
        organization_id = opaque(own).lstrip("~") if isinstance(own, str) and own else None
    if subject_id is None and identity.subject_type == "organization":
        subject_id = organization_id
    if subject_id is None:
        raise UnfitError(
            ParkedReason.NO_SUBJECT,
            f"Neither body nor topic says which {identity.subject_type} the event is about.",
        )
    return organization_id, subject_id


def _trace(opened: Opened, event_id: str | None) -> dict[str, str]:
    envelope = opened.envelope
    trace = {
        "eventId": event_id,
        "envelopeId": envelope.get("id"),
        "correlationId": opened.correlation_id,
        "replayName": envelope.get("replay-name"),
        "source": envelope.get("source"),
    }
    return {name: value for name, value in trace.items() if isinstance(value, str)}


def _refuse_large_numbers(values: Any) -> None:
    """Parks numbers that would fail the whole batch: `1e999` is read as infinity, which no JSON
    writer can repeat, and some engines of JSONata refuse whole numbers of more than 64 bits."""
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
    if len(to_json(element.get("metadata"))) > _LONG_CHARS:
        del element["metadata"]  # the key holds its hash
        element["note"] = "; ".join(filter(None, [element.get("note"), "metadata too long"]))
    element["topic"] = _ascii(element["topic"])
    element["trace"] = {n: _ascii(value[:_LONGEST_PART]) for n, value in element["trace"].items()}


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode()
