"""Finds the event inside a queue message, whatever it is wrapped in."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pydantic_core import from_json

from enrichment import topics
from enrichment.contract import ParkedReason
from enrichment.families import BY_TOPIC
from enrichment.keys import is_word, opaque

Json = Mapping[str, Any]
Opened = tuple[str | None, str, Json, Json, Json]
"""Template (None for shapes that are not Genesys' own), topic, body, detail and envelope."""

PARTNER = "aws.partner/genesys.com/"
LONGEST_TOPIC = 512  # characters; also of a source
_HEARTBEAT = "channel.metadata"
_WRAPPERS = ("body", "Body", "detail", "Message", "requestPayload")
_LAYERS = 4  # text of the SQS body, a wrapper around the event, text inside it, and the event
_KNOWN = topics.tree(BY_TOPIC)
_AROUND_A_BODY = {"topicName", "version", "metadata", "timestamp"}


class UnfitError(Exception):
    """The message holds no event that could be decided on."""

    def __init__(self, reason: ParkedReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def parse(text: str) -> Any:
    """JSON text as an object. Of a name that is there twice the last one counts."""
    if not text:
        raise UnfitError(ParkedReason.BODY_MISSING, "The message has no body.")
    try:
        return from_json(text, allow_inf_nan=False, cache_strings="keys")
    except (ValueError, TypeError) as error:  # the latter for half of a surrogate pair
        detail = str(error)
    if "recursion" in detail:
        raise UnfitError(ParkedReason.TOO_DEEP, "The text is nested too deeply to be read.")
    raise UnfitError(ParkedReason.NOT_JSON, f"The text is not JSON: {detail}.")


def open_event(value: Any) -> Opened:
    """The event in a parsed message body."""
    for _ in range(_LAYERS):
        if type(value) is dict:
            detail = value.get("detail")
            if type(detail) is dict:
                body, topic = detail.get("eventBody"), detail.get("topicName")
                if type(body) is dict and type(topic) is str:
                    return _genesys(value.get("detail-type"), topic, body, detail, value)
            opened = _bare(value) or _flat(value)
            if opened:
                return opened
            inner = _wrapped(value)
            if inner is None:
                return _custom(value)
            value = inner
        elif type(value) is str:
            value = parse(value)
        else:
            kind = "null" if value is None else type(value).__name__
            raise UnfitError(
                ParkedReason.NOT_AN_OBJECT,
                f"The text is JSON, but a value of type {kind} is where an event should be.",
            )
    raise UnfitError(ParkedReason.UNKNOWN_SHAPE, "The event is wrapped too many times to be found.")


def _genesys(template: Any, topic: str, body: Json, detail: Json, envelope: Json) -> Opened:
    if len(topic) > LONGEST_TOPIC:
        raise UnfitError(
            ParkedReason.UNKNOWN_SHAPE,
            f"The topic is longer than {LONGEST_TOPIC} characters, so it is none of Genesys'.",
        )
    if type(template) is not str or template[:3] != "v2." or len(template) > LONGEST_TOPIC:
        if topic == _HEARTBEAT:
            raise UnfitError(
                ParkedReason.NOT_AN_EVENT,
                f"This is a WebSocket heartbeat ({_HEARTBEAT}) and no event: nothing is lost.",
            )
        template = _template_of(topic)
    return template, topic, body, detail, envelope


@lru_cache(maxsize=1024)
def _template_of(topic: str) -> str:
    return topics.template_of(topic, _KNOWN)


def _bare(value: Json) -> Opened | None:
    """The WebSocket form, or a detail that came without its envelope."""
    body, topic = value.get("eventBody"), value.get("topicName")
    if type(body) is dict and type(topic) is str:
        return _genesys(value.get("detail-type"), topic, body, value, value)
    return None


def _flat(value: Json) -> Opened | None:
    """A Genesys topic whose fields lie in the detail itself, with no eventBody around them."""
    detail = value.get("detail")
    if type(detail) is not dict:
        detail = value
    template, topic = value.get("detail-type"), detail.get("topicName")
    named = topic if type(topic) is str else template
    if "eventBody" in detail or type(named) is not str or named[:3] != "v2.":
        return None
    body = {name: part for name, part in detail.items() if name not in _AROUND_A_BODY}
    return _genesys(template, named, body, detail, value)


def _wrapped(value: Json) -> Any:
    """What lies inside a wrapper; None where `value` itself is the event."""
    for name in _WRAPPERS:
        inner = value.get(name)
        if type(inner) is dict and not inner.keys().isdisjoint(
            ("detail", "detail-type", "eventBody")
        ):
            return inner
        if type(inner) is str and inner.lstrip()[:1] in ("{", '"'):
            return inner
    return None


def _custom(value: Json) -> Opened:
    """An event of somebody's own. Its trace is logged, so it holds no text that may be private."""
    detail, source = value.get("detail"), value.get("source")
    envelope: dict[str, Any] = {}
    if type(source) is str and source.startswith(PARTNER):
        envelope["source"] = source
    if type(detail) is not dict:
        detail = value
    else:
        envelope |= {name: value[name] for name in ("time", "replay-name") if name in value}
        if type(source) is str and is_word(source):
            envelope["source"] = source
        if type(value.get("id")) is str:
            envelope["id"] = opaque(value["id"])
    name = value.get("detail-type")
    return None, name[:LONGEST_TOPIC] if type(name) is str else "", detail, detail, envelope


@lru_cache(maxsize=256)
def organization_of(source: str) -> str | None:
    """The organisation in `aws.partner/genesys.com/cloud/<organisation>/<suffix>`."""
    words = source[:LONGEST_TOPIC].split("/")
    if "cloud" not in words[:-1]:
        return None
    return words[words.index("cloud") + 1] or None
