"""Finds the event inside a queue message, whatever it is wrapped in."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic_core import from_json

from enrichment import topics
from enrichment.elements import ParkedReason

_WRAPPERS = ("body", "Body", "detail", "Message", "requestPayload")
_LAYERS = 3  # SQS body, one wrapper around the event, and text inside it
_TOPIC_CHARS = 512


class UnfitError(Exception):
    """The message holds no event that could be decided on."""

    def __init__(self, reason: ParkedReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


Json = Mapping[str, Any]
Opened = tuple[str | None, str, Json, Json, Json]
"""Template (None for shapes that are not Genesys' own), topic, body, detail and envelope."""


def parse(text: str) -> Any:
    """JSON text as an object. Duplicate names: the last one counts, as everywhere on AWS."""
    try:
        return from_json(text, allow_inf_nan=False, cache_strings="keys")
    except ValueError as error:
        detail = str(error)
    except UnicodeError as error:
        detail = str(error)
    if "recursion" in detail:
        raise UnfitError(
            ParkedReason.TOO_DEEP, f"The text is nested too deeply to be read: {detail}."
        )
    raise UnfitError(ParkedReason.NOT_JSON, f"The text is not JSON: {detail}.")


def open_event(value: Any) -> Opened:
    """The event in a parsed message body."""
    for _ in range(_LAYERS):
        if type(value) is not dict:
            if type(value) is str:
                value = parse(value)
                continue
            raise UnfitError(
                ParkedReason.NOT_AN_OBJECT,
                f"The text is JSON but holds a {_kind(value)} where an event object should be.",
            )
        detail = value.get("detail")
        if type(detail) is dict:
            body, topic = detail.get("eventBody"), detail.get("topicName")
            if type(body) is dict and type(topic) is str:
                return _genesys(value, detail, topic, body)
        body, topic = value.get("eventBody"), value.get("topicName")
        if type(body) is dict and type(topic) is str:
            return _genesys({}, value, topic, body)
        wrapped = _wrapped(value)
        if wrapped is None:
            break
        value = wrapped
    if type(value) is not dict:
        raise UnfitError(ParkedReason.UNKNOWN_SHAPE, "The event is wrapped too many times.")
    return _home_made(value)


def _genesys(
    envelope: Mapping[str, Any], detail: Mapping[str, Any], topic: str, body: Mapping[str, Any]
) -> Opened:
    template = envelope.get("detail-type")
    if type(template) is not str or template[:3] != "v2.":
        if topic == "channel.metadata":
            raise UnfitError(
                ParkedReason.NOT_AN_EVENT,
                "This is a WebSocket heartbeat (channel.metadata), not an event.",
            )
        template = _template(topic)
    if len(topic) > _TOPIC_CHARS or len(template) > _TOPIC_CHARS:
        raise UnfitError(
            ParkedReason.UNKNOWN_SHAPE, f"The topic is longer than {_TOPIC_CHARS} characters."
        )
    return template, topic, body, detail, envelope


def _template(topic: str) -> str:
    if len(topic) > _TOPIC_CHARS:
        return topic
    return topics.guess_template(topic)


def _wrapped(value: Mapping[str, Any]) -> Any:
    """What lies inside a wrapper; None where `value` itself is the event."""
    if "detail-type" in value and type(value.get("detail")) is dict:
        inner = value["detail"]
        return inner if "detail-type" in inner or "topicName" in inner else None
    for name in _WRAPPERS:
        inner = value.get(name)
        if type(inner) is dict and ("detail" in inner or "eventBody" in inner):
            return inner
        if type(inner) is str and inner.lstrip()[:1] == "{":
            return inner
    return None


def _home_made(value: Mapping[str, Any]) -> Opened:
    detail = value.get("detail")
    if type(detail) is not dict:
        detail = value
    name = value.get("detail-type") or detail.get("detail-type")
    topic = name if type(name) is str else ""
    return None, topic[:_TOPIC_CHARS], detail, detail, value


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return {list: "list", bool: "boolean"}.get(type(value), "number")


@lru_cache(maxsize=256)
def organization_of(source: str) -> str | None:
    """The organisation in `aws.partner/genesys.com/cloud/<organisation>/<suffix>`."""
    words = source.split("/")
    try:
        return words[words.index("cloud") + 1] or None
    except (ValueError, IndexError):
        return None
