"""Finds the event inside a queue message, whatever it is wrapped in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from pydantic_core import from_json

from once_enrichment import topics
from once_enrichment.contract import ParkedReason
from once_enrichment.families import BY_TOPIC
from once_enrichment.keys import is_word, opaque

Json = Mapping[str, Any]

PARTNER = "aws.partner/genesys.com/"
LONGEST_TOPIC = 512  # characters; also of a source
_HEARTBEAT = "channel.metadata"
_WRAPPERS = ("body", "Body", "detail", "Message", "requestPayload")
_LAYERS = 4  # text of the SQS body, a wrapper around the event, text inside it, and the event
_AROUND_A_BODY = {"topicName", "version", "metadata", "timestamp"}


@dataclass(frozen=True, kw_only=True)
class Opened:
    """An event without what it was wrapped in."""

    template: str | None
    """The topic with its slots empty; None for a home-made event."""
    topic: str
    body: Json
    metadata: Json = field(default_factory=dict)
    """Without the correlation id, which each copy has anew."""
    correlation_id: str | None = None
    published: Any = None
    """The time at which its publisher sent it."""
    envelope: Json
    is_genuine: bool = False
    """Genesys itself named the topic; otherwise it may be any text."""


class UnfitError(Exception):
    """The message holds no event that could be decided on."""

    def __init__(self, reason: ParkedReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def parse(text: str) -> Any:
    """Reads JSON text. Of a name that is there twice the last one counts."""
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
    """Returns the event in a parsed message body."""
    for _ in range(_LAYERS):
        if isinstance(value, dict):
            opened = _genesys(value) or _flat(value)
            if opened:
                return opened
            inner = _wrapped(value)
            if inner is None:
                return _custom(value)
            value = inner
        elif isinstance(value, str):
            value = parse(value)
        else:
            raise UnfitError(
                ParkedReason.NOT_AN_OBJECT,
                f"The text is JSON, but {_kind(value)} is where an event should be.",
            )
    raise UnfitError(ParkedReason.UNKNOWN_SHAPE, "The event is wrapped too many times to be found.")


def _genesys(value: Json) -> Opened | None:
    """Opens what has an eventBody: below `detail`, or a WebSocket's or an envelope's detail."""
    detail = value.get("detail")
    detail = detail if isinstance(detail, dict) and "eventBody" in detail else value
    if "eventBody" not in detail:
        return None
    body, topic = detail["eventBody"], detail.get("topicName")
    if not isinstance(topic, str):
        raise UnfitError(
            ParkedReason.UNKNOWN_SHAPE,
            "The event has an eventBody, but no topicName, which holds ids that are nowhere else.",
        )
    if body is not None and not isinstance(body, dict):
        raise UnfitError(
            ParkedReason.UNKNOWN_SHAPE,
            f"The event has a topicName, but its eventBody is {_kind(body)} and no object.",
        )
    return _of_topic(value, detail, topic, body or {})


def _flat(value: Json) -> Opened | None:
    """Opens a Genesys topic whose fields are in the detail itself, without an eventBody."""
    detail = value.get("detail")
    detail = detail if isinstance(detail, dict) else value
    topic = detail.get("topicName")
    topic = topic if isinstance(topic, str) else value.get("detail-type")
    if not isinstance(topic, str) or not topic.startswith("v2."):
        return None
    body = {name: part for name, part in detail.items() if name not in _AROUND_A_BODY}
    return _of_topic(value, detail, topic, body)


def _of_topic(envelope: Json, detail: Json, topic: str, body: Json) -> Opened:
    if len(topic) > LONGEST_TOPIC:
        raise UnfitError(
            ParkedReason.UNKNOWN_SHAPE,
            f"The topic is longer than {LONGEST_TOPIC} characters, so it is none of Genesys'.",
        )
    template, source = envelope.get("detail-type"), envelope.get("source")
    if isinstance(template, str) and template.startswith("v2.") and len(template) <= LONGEST_TOPIC:
        is_genuine = isinstance(source, str) and source.startswith(PARTNER)
    elif topic == _HEARTBEAT:
        raise UnfitError(
            ParkedReason.NOT_AN_EVENT,
            f"This is a WebSocket heartbeat ({_HEARTBEAT}) and no event: nothing is lost.",
        )
    else:
        template, is_genuine = _template_of(topic), False
    metadata = detail.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return Opened(
        template=template,
        topic=topic,
        body=body,
        metadata={n: v for n, v in metadata.items() if n.lower() != "correlationid"},
        correlation_id=_correlation_id(metadata),
        published=detail.get("timestamp"),
        envelope=envelope,
        is_genuine=is_genuine,
    )


def _correlation_id(metadata: Any) -> str | None:
    if not isinstance(metadata, dict):
        return None
    value = metadata.get("CorrelationId") or metadata.get("correlationId")
    return value if isinstance(value, str) else None


@lru_cache(maxsize=1024)
def _template_of(topic: str) -> str:
    return topics.template_of(topic, BY_TOPIC)


def _wrapped(value: Json) -> Any:
    """Returns what is inside a wrapper; None if `value` itself is the event."""
    for name in _WRAPPERS:
        inner = value.get(name)
        if isinstance(inner, dict) and not inner.keys().isdisjoint(
            ("detail", "detail-type", "eventBody")
        ):
            return inner
        if isinstance(inner, str) and inner.lstrip()[:1] in ("{", '"'):
            return inner
    return None


def _custom(value: Json) -> Opened:
    """Opens a home-made event. Its trace is logged, so it holds no text that may be private."""
    detail, source = value.get("detail"), value.get("source")
    envelope: dict[str, Any] = {}
    if isinstance(source, str) and source.startswith(PARTNER):
        envelope["source"] = source
    if not isinstance(detail, dict):
        detail = value
    else:
        envelope |= {name: value[name] for name in ("time", "replay-name") if name in value}
        if isinstance(source, str) and is_word(source):
            envelope["source"] = source
        if isinstance(value.get("id"), str):
            envelope["id"] = opaque(value["id"])
    name = value.get("detail-type")
    return Opened(
        template=None,
        topic=name[:LONGEST_TOPIC] if isinstance(name, str) else "",
        body=detail,
        correlation_id=_correlation_id(detail.get("metadata")),
        envelope=envelope,
    )


def _kind(value: Any) -> str:
    return "null" if value is None else f"a value of type {type(value).__name__}"


def organization_of(source: str) -> str | None:
    """Returns the organisation in `aws.partner/genesys.com/cloud/<organisation>/<suffix>`."""
    words = source[:LONGEST_TOPIC].split("/")
    if "cloud" not in words[:-1]:
        return None
    return words[words.index("cloud") + 1] or None
