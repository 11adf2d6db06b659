"""Turns the one message that the pipe sends into one element: reads what the project wrote around
the event, opens it, and puts together its identity, its time and its route. It reads no clock.
"""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from once_enrichment import custom_events
from once_enrichment.envelope import (
    Json,
    Moment,
    Opened,
    UnfitError,
    choose,
    iso,
    maybe_ms,
    open_event,
    organization_of,
    parse,
)
from once_enrichment.identity import ABSENT, Identity, hash_whole, identify, ids_of, only, ways
from once_enrichment.keys import (
    KEY_VERSION,
    ascii_only,
    digest,
    is_plain,
    key_hash,
    opaque,
    partition_key,
    sort_key,
)
from once_enrichment.routes import IGNORE, InvalidRoutesError, Route, Routes, parse_routes

Element = dict[str, Any]

VERSION = "2"
"""The version of the element."""

UNREADABLE = "UNREADABLE"
"""The reason with which the state machine parks a message that holds no event."""

CANARY = "GenesysOnceCanary"
"""Message attribute of an event that `once check` sends.

No event from a bus has it: a rule sets no message attributes (SqsParameters in the EventBridge API
Reference has MessageGroupId only). Who may send to the queue can set it.
"""

_FOLDER = Path(__file__).resolve().parents[1]
LARGEST_BYTES = 248 * 1024
"""Step Functions takes 256 KiB into a state; what the state machine adds needs the rest."""

_NO_ROUTE = Route(name="", family="*", action="send")
# Only a mistaken or hostile publisher has longer texts. Keys hold the hash of the whole text.
_LONGEST_PART = 160


class TooLargeError(Exception):
    """The element does not fit into the state machine; the message stays in the queue."""


def handler(event: list[Any], _context: object) -> list[Element]:
    """Returns the element of the one message that the pipe sends; raises if it cannot be used."""
    (record,) = event
    element = normalise(record, _routes())
    size = size_of(element)
    if size > LARGEST_BYTES:
        raise TooLargeError(
            f"The event of message {element['firstMessageId']} needs {size:,} bytes; "
            f"the state machine takes {LARGEST_BYTES:,}: its publisher must send less text."
        )
    return [element]


def size_of(element: Element) -> int:
    """Returns the bytes of the larger: the element, or its message when it is put back or parked.

    The body of that message is JSON text in JSON text, in which a quotation mark takes four bytes.
    """
    body = json.dumps(element["raw"], ensure_ascii=False)
    return max(len(json.dumps(one, ensure_ascii=False).encode()) for one in (element, body))


@cache
def _routes() -> Routes:
    name = os.environ.get("ROUTES_FILE", "routes.toml")
    try:
        text = (_FOLDER / name).read_text("utf-8")
    except (OSError, ValueError):
        raise InvalidRoutesError(
            f"RoutesFile names {name}, and the function has no such file; "
            "put it in functions/enrichment and deploy"
        ) from None
    return parse_routes(name, text)


def normalise(record: Any, routes: Routes | None = None) -> Element:
    """Returns the element of one SQS record: an event, or `broken` with the reason."""
    message = _read_message(record)
    try:
        opened = open_event(parse(message["raw"]))
        return _event(message, opened, None if "canary" in message else routes)
    except UnfitError as unfit:
        return _broken(message, str(unfit))
    except RecursionError:
        return _broken(message, "TOO_DEEP: The text is nested too deeply to be read.")


def _read_message(record: Any) -> Element:
    """Returns the fields that every element has of its message.

    What a record lacks is empty, or 0.
    """
    attributes = record.get("attributes") or {}
    once, raw = _unwrap(record.get("body") or "")
    sent_ms = maybe_ms(attributes.get("SentTimestamp"))
    first_id, after = once.get("firstMessageId"), once.get("after")
    is_chained = isinstance(first_id, str) and first_id
    message: Element = {
        "version": VERSION,
        "firstMessageId": first_id if is_chained else str(record.get("messageId") or ""),
        "firstSentAtMs": _earlier(once.get("firstSentAtMs"), sent_ms),
        "waitsSinceMs": _earlier(once.get("waitsSinceMs"), sent_ms),
        "receives": int(attributes.get("ApproximateReceiveCount") or 0),
        "raw": raw,
    }
    if after and isinstance(after, str):
        message["after"] = after
    due_ms, reason = maybe_ms(once.get("dueAtMs")), once.get("reason")
    if due_ms is not None:  # the message was put back, not parked
        message["dueAtMs"] = due_ms
        message["lastReason"] = reason if isinstance(reason, str) and is_plain(reason) else ""
    if once.get("canary") is True or CANARY in (record.get("messageAttributes") or {}):
        message["canary"] = True
    return message


def _unwrap(text: str) -> tuple[Element, str]:
    """Returns what `once` says of a message that the project sent, and the event in it."""
    if '"once"' in text:
        try:
            value = parse(text)
        except (UnfitError, RecursionError):
            return {}, text  # the message is no event either, which the normaliser says
        if isinstance(value, dict) and value.keys() == {"once", "event"}:
            once, raw = value["once"], value["event"]
            if isinstance(once, dict) and isinstance(raw, str):
                return once, raw
    return {}, text


def _earlier(value: Any, sent_ms: int | None) -> int:
    """Returns a time that a person may have written, but none after the message was sent."""
    return min(filter(None, (maybe_ms(value), sent_ms)), default=0)


def _broken(message: Element, detail: str) -> Element:
    """Returns the element of a message that holds no event: its text is its identity."""
    subject = digest(message["raw"])
    pk, sk = f"-/message/{subject}", f"{KEY_VERSION}/broken"
    return {
        "family": "broken",
        "topic": "",
        "subject": {"type": "message", "id": subject},
        "occurredAt": iso(message["firstSentAtMs"]),
        "occurredAtMs": message["firstSentAtMs"],
        "ids": {},
        "key": {"pk": pk, "sk": sk},
        "keyHash": key_hash(pk, sk),
        "policy": {"windowMs": 0, "order": "none"},
        "trace": {},
        "broken": UNREADABLE,
        "detail": detail,
        "bodyPath": [],
        **message,
    }


def _event(message: Element, opened: Opened, routes: Routes | None) -> Element:
    if opened.template is None:
        identity = custom_events.identify(opened)
    else:
        identity = identify(opened, opened.template)
    envelope, sent_ms = opened.envelope, message["firstSentAtMs"] or None
    moment = choose(identity.time_ms, identity.published, envelope.get("time"), sent_ms)
    if moment is None:
        raise UnfitError("NO_TIME: Neither the event nor its message tells a time.")

    organization_id, subject_id = _subject(identity, envelope.get("source"), opened.body)
    pk = partition_key(organization_id, identity.subject_type, opaque(subject_id))
    matched: Element = {
        "family": identity.family,
        "subject": {"type": identity.subject_type, "id": subject_id},
        "ids": ids_of(identity, subject_id, opened.body),
        "body": opened.body,
        "metadata": opened.metadata,
        **({"state": identity.state} if identity.state else {}),
    }
    route, has_facts = _NO_ROUTE, False
    if routes is not None:
        route = routes.take(matched)
        has_facts = any(other.facts for other in routes.routes_for(identity.family))
    sk, policy = _policy(identity, moment, route, has_facts)
    notes, counted = _notes(identity, moment), None
    if policy["order"] == "changes":
        counted, note = _facts(route, opened, identity)
        notes += [note] if note else []
    published_ms = maybe_ms(identity.published)
    state = (identity.state or "")[:_LONGEST_PART]
    optional: Element = {
        "organizationId": organization_id and organization_id[:_LONGEST_PART],
        "state": state,
        # The part of the topic's name that some families show as their state is in the family.
        "plainState": state if is_plain(state) and not identity.family.endswith(state) else "",
        "publishedAt": None if published_ms is None else iso(published_ms),
        "facts": counted,
        "route": None if routes is None else routes.describe(route, matched),
        "expiresAtMs": route.max_age_ms and moment.ms + route.max_age_ms,
        "metadata": opened.metadata,
        "note": ascii_only("; ".join(notes)),
    }
    return {
        "family": identity.family,
        "topic": ascii_only(identity.topic),
        "subject": {"type": identity.subject_type, "id": subject_id[:_LONGEST_PART]},
        "occurredAt": iso(moment.ms),
        "occurredAtMs": moment.ms,
        "ids": matched["ids"],
        "key": {"pk": pk, "sk": sk},
        "keyHash": key_hash(pk, sk),
        "policy": policy,
        **{name: value for name, value in optional.items() if value},
        "trace": _trace(opened, identity.event_id),
        "bodyPath": [*opened.path],
        **message,
    }


def _policy(
    identity: Identity, moment: Moment, route: Route, has_facts: bool
) -> tuple[str, Element]:
    """Returns the sort key, and the claim's rules for events of the same key.

    A state that no clock can order is windowed. If a route of the family compares facts, a state
    that another route ignores, or acts on each time, comes between two with the same facts.
    """
    if identity.order == "none" or not moment.is_orderable:
        window_ms = 0 if identity.is_exact else moment.window_ms
        return identity.sk, {"windowMs": window_ms, "order": "none"}
    if route.order == "every":
        # Its time tells a repeat from a copy; a time that is in the key already is not added.
        is_timed = identity.time_ms is not None and identity.is_exact
        prefix = f"{KEY_VERSION}/{identity.family}/"
        timed = sort_key(prefix, [identity.sk.removeprefix(prefix), str(moment.ms)])
        sk = identity.sk if is_timed else timed
        order = "every" if identity.order == "changes" or has_facts else "none"
        latest = {"latest": identity.latest} if order == "every" else {}
        return sk, {"windowMs": 0, "order": order, **latest}
    is_between = has_facts and route.action == IGNORE
    order = "changes" if route.facts or is_between else identity.order
    window_ms = 0 if identity.is_exact or order == "changes" else moment.window_ms
    return identity.sk, {"windowMs": window_ms, "order": order, "latest": identity.latest}


def _notes(identity: Identity, moment: Moment) -> list[str]:
    """Returns what is not as declared."""
    notes = [] if identity.note is None else [identity.note]
    if identity.time_ms is not None and moment.ms != identity.time_ms:
        notes.append(f"the time in the body is ahead of the queue's: {iso(identity.time_ms)}")
    if identity.order == "changes" and not moment.is_orderable:
        notes.append("no timestamp says when: the state cannot be ordered")
    return notes


def _facts(route: Route, opened: Opened, identity: Identity) -> tuple[str, str | None]:
    """Hashes the fields that count on a route; notes it if none of the route's paths matches.

    Then the whole body counts, so a renamed field makes no change vanish silently. The route's name
    is in the hash: two routes never take one another's facts for their own.
    """
    note = None
    if route.facts:
        event = {**opened.body, "metadata": opened.metadata} if opened.metadata else opened.body
        counted = only(event, ways(route.facts))
        if counted is not ABSENT:
            return digest({"route": route.name, "facts": counted}), None
        wanted = ", ".join(route.facts)[:100]
        note = f"no fact of its route matches ({wanted}): the whole body counts"
    return digest({"route": route.name, "whole": hash_whole(opened, identity.family)}), note


def _subject(identity: Identity, source: Any, body: Json) -> tuple[str | None, str]:
    """Returns organisation and subject, if the source lacks the one or the event the other."""
    subject_id = identity.subject_id
    organization_id = organization_of(source) if isinstance(source, str) else None
    if organization_id is None:
        own = body.get("organizationId")
        organization_id = opaque(own).lstrip("~") if isinstance(own, str) and own else None
    if subject_id is None and identity.subject_type == "organization":
        subject_id = organization_id
    if subject_id is None:
        raise UnfitError(
            f"NO_SUBJECT: Neither body nor topic says which {identity.subject_type} the event is "
            "about."
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
    return {
        name: ascii_only(value[:_LONGEST_PART])
        for name, value in trace.items()
        if isinstance(value, str)
    }
