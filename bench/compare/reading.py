"""Reads Genesys events as the rivals' users do: the entity, its state, its time and its content."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

Event = Mapping[str, Any]


def fingerprint(topic: str, body: Any) -> str:
    """Hashes the content of an event, whoever sends it."""
    content = json.dumps([topic, body], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def detail(event: Event) -> Event:
    """The part with topic and body; the event itself where nothing is around it."""
    inner = event.get("detail")
    return inner if isinstance(inner, dict) else event


def body(event: Event) -> Event:
    inner = detail(event).get("eventBody")
    return inner if isinstance(inner, dict) else detail(event)


def topic(event: Event) -> str:
    return str(detail(event).get("topicName") or event.get("detail-type") or "")


def entity(event: Event) -> str:
    """The conversation, or the user, that an event is about; empty where nothing says so."""
    said = body(event)
    found = said.get("conversationId") or said.get("id")
    if not found:
        words = topic(event).split(".")
        found = words[2] if len(words) > 2 else said.get("conversation_id") or said.get("userId")
    return str(found or "")


def state(event: Event) -> str:
    """Returns the state of the entity that the event names."""
    said = body(event)
    presence = _inner(said, "presenceDefinition", "systemPresence")
    status = _inner(said, "routingStatus", "status") or said.get("status", said.get("state", ""))
    return f"{event.get('detail-type', '')}:{presence}{status}{said.get('joined', '')}"


def _inner(said: Event, name: str, field: str) -> Any:
    inner = said.get(name)
    return inner.get(field, "") if isinstance(inner, dict) else ""


def happened_ms(event: Event) -> int | None:
    """The time of the event itself, else when it was published, where that is said."""
    said = body(event)
    stamp = said.get("eventTime") or said.get("modifiedDate") or detail(event).get("timestamp")
    try:
        if isinstance(stamp, str):
            return round(datetime.fromisoformat(stamp).timestamp() * 1000)
        return None if stamp is None else int(stamp)
    except (TypeError, ValueError, OverflowError):
        return None


def content_key(event: Event) -> str:
    """A hash of the topic and the body, which copies share."""
    return fingerprint(topic(event), body(event))
