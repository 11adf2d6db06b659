"""Finds the event inside a queue message, whatever it is wrapped in, and the time at which it
occurred, by the first of its clocks that counts.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import isinf
from typing import Any, NoReturn

from once_enrichment.families import template_of
from once_enrichment.keys import is_plain, opaque

Json = Mapping[str, Any]

AHEAD_MS = 300_000  # a time further ahead of the queue's clock than this is ignored

WINDOW_MS = 500  # of a clock that tells milliseconds
WHOLE_SECOND_WINDOW_MS = 1_500
SENT_WINDOW_MS = 60_000  # copies reach the queue this far apart when a publisher retries

PARTNER = "aws.partner/genesys.com/"
LONGEST_TOPIC = 512  # characters; also of a source
_HEARTBEAT = "channel.metadata"
_WRAPPERS = ("detail", "Message", "body")
_LAYERS = 4  # text of the queue, a wrapper around the event, text inside it, and the event
_AROUND_A_BODY = {"topicName", "version", "metadata", "timestamp"}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
LAST_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z, the last that ISO 8601 can write
EARLIEST_MS = 100_000_000_000  # in 1973; a smaller number counts seconds, up to the year 5138
_DIGITS = 17  # more cannot be in range, and would be slow to read


@dataclass(frozen=True, kw_only=True)
class Opened:
    """An event without what it was wrapped in."""

    template: str | None
    """The topic with its slots empty; None for a home-made event. Genesys need not have sent it."""
    topic: str
    body: Json
    path: Sequence[str]
    """The keys that lead from the text to the body."""
    metadata: Json = field(default_factory=dict)
    """Without the correlation id, which each copy has anew."""
    correlation_id: str | None = None
    published: Any = None
    """The time at which its publisher sent it."""
    envelope: Json


class UnfitError(Exception):
    """The message holds no event that could be decided on: a code and a sentence."""


@dataclass(frozen=True)
class Moment:
    """The time of an event, by the clock that counts."""

    ms: int
    window_ms: int
    """The longest distance of copies on that clock."""
    is_orderable: bool
    """The clock is fine enough to say which of two events came first."""


def parse(text: str) -> Any:
    """Reads JSON text, or raises UnfitError. If a name is there twice, the last value counts."""
    if not text:
        raise UnfitError("BODY_MISSING: The message has no body.")
    try:
        value = json.loads(text, parse_float=_float, parse_int=_int, parse_constant=_not_json)
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode()  # fails on half of a surrogate pair
    except ValueError as error:
        raise UnfitError(f"NOT_JSON: The text is not JSON: {error}.") from None
    return value


def _float(text: str) -> float:
    value = float(text)
    return _out_of_range() if isinf(value) else value


def _int(text: str) -> int:
    value = int(text)
    return _out_of_range() if value.bit_length() > 63 else value


def _out_of_range() -> NoReturn:
    """Refuses numbers that other readers of JSON on the way cannot read."""
    raise UnfitError(
        "NUMBER_OUT_OF_RANGE: A number in the event is too large for JSON readers on the way "
        "(whole numbers end at 64 bits): its publisher must correct it, or send it as text."
    )


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number")


def open_event(value: Any) -> Opened:
    """Returns the event in a parsed message."""
    path: list[str] = []
    for _ in range(_LAYERS):
        if isinstance(value, dict):
            opened = _genesys(value, path)
            if opened:
                return opened
            wrapper = _wrapper(value)
            if wrapper is None:
                return _custom(value, path)
            path, value = [*path, wrapper], value[wrapper]
        elif isinstance(value, str) and not isinstance(inner := parse(value), str):
            value = inner
        else:
            raise UnfitError(
                f"NOT_AN_OBJECT: The text is JSON, but {_kind(value)} is where an event should be."
            )
    raise UnfitError("UNKNOWN_SHAPE: The event is wrapped too many times to be found.")


def _wrapper(value: Json) -> str | None:
    """Returns the name of the field that holds the event; None if `value` itself is the event."""
    for name in _WRAPPERS:
        inner = value.get(name)
        if isinstance(inner, dict) and inner.keys() & {"detail", "detail-type", "eventBody"}:
            return name
        if isinstance(inner, str) and _holds_object(inner):
            return name
    return None


def _holds_object(text: str) -> bool:
    """Returns true for the JSON of an object. The words of a message may begin like JSON, too."""
    try:
        inner = json.loads(text)
        if isinstance(inner, str):
            inner = json.loads(inner)
    except (ValueError, RecursionError):
        return False
    return isinstance(inner, dict)


def _genesys(value: Json, path: Sequence[str]) -> Opened | None:
    """Opens an event of a Genesys topic; its fields may be in the detail itself."""
    detail = value
    if isinstance(value.get("detail"), dict) and "eventBody" not in value:
        detail, path = value["detail"], [*path, "detail"]
    topic, body = detail.get("topicName"), detail.get("eventBody")
    if "eventBody" in detail:
        path = [*path, "eventBody"]
        if not isinstance(topic, str):
            raise UnfitError(
                "UNKNOWN_SHAPE: The event has an eventBody, but no topicName, which holds ids that "
                "are nowhere else."
            )
        if body is not None and not isinstance(body, dict):
            raise UnfitError(
                "UNKNOWN_SHAPE: The event has a topicName, but its eventBody is "
                f"{_kind(body)} and no object."
            )
    else:
        topic = topic if isinstance(topic, str) else value.get("detail-type")
        if not isinstance(topic, str) or not topic.startswith("v2."):
            return None
        body = {name: inner for name, inner in detail.items() if name not in _AROUND_A_BODY}
    return _of_topic(value, detail, topic, body or {}, path)


def _of_topic(envelope: Json, detail: Json, topic: str, body: Json, path: Sequence[str]) -> Opened:
    if len(topic) > LONGEST_TOPIC:
        raise UnfitError(
            f"UNKNOWN_SHAPE: The topic is longer than {LONGEST_TOPIC} characters, so it is none of "
            "Genesys'."
        )
    template = envelope.get("detail-type")
    if topic == _HEARTBEAT:
        raise UnfitError(
            f"NOT_AN_EVENT: This is a WebSocket heartbeat ({_HEARTBEAT}) and no event: nothing is "
            "lost."
        )
    if (
        not isinstance(template, str)
        or not template.startswith("v2.")
        or len(template) > LONGEST_TOPIC
    ):
        template = template_of(topic)
    metadata = detail.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return Opened(
        template=template,
        topic=topic,
        body=body,
        path=path,
        metadata={n: inner for n, inner in metadata.items() if n.lower() != "correlationid"},
        correlation_id=_correlation_id(metadata),
        published=detail.get("timestamp"),
        envelope=envelope,
    )


def _correlation_id(metadata: Any) -> str | None:
    if not isinstance(metadata, dict):
        return None
    value = metadata.get("CorrelationId") or metadata.get("correlationId")
    return value if isinstance(value, str) else None


def _custom(value: Json, path: Sequence[str]) -> Opened:
    """Opens a home-made event. Its trace is logged, so it holds no text that may be private."""
    detail, source = value.get("detail"), value.get("source")
    envelope: dict[str, Any] = {}
    if isinstance(source, str) and source.startswith(PARTNER):
        envelope["source"] = source
    if not isinstance(detail, dict):
        detail = value
    else:
        path = [*path, "detail"]
        envelope |= {name: value[name] for name in ("time", "replay-name") if name in value}
        if isinstance(source, str) and is_plain(source):
            envelope["source"] = source
        if isinstance(value.get("id"), str):
            envelope["id"] = opaque(value["id"])
    name = value.get("detail-type")
    return Opened(
        template=None,
        topic=name[:LONGEST_TOPIC] if isinstance(name, str) else "",
        body=detail,
        path=path,
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


def maybe_ms(value: Any) -> int | None:
    """Returns epoch milliseconds of an int (ms or s), a float (s), digits, or ISO 8601 text.

    None: the value is no time, or one outside 1970 to 9999.
    """
    is_digits = type(value) is str and value.isdecimal() and len(value) < _DIGITS
    try:
        if is_digits or type(value) in (int, float):
            number = int(value) if is_digits else value
            # Only seconds have a fraction that counts.
            ms = round(number * 1000 if abs(number) < EARLIEST_MS else number)
        elif type(value) is str and not value.isdecimal():  # of digits it would read a date
            moment = datetime.fromisoformat(value)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            ms = (moment - _EPOCH) // _MILLISECOND
        else:
            return None
    except (ValueError, OverflowError):
        return None
    return ms if 0 < ms <= LAST_MS else None


def iso(ms: int) -> str:
    """Writes ISO 8601 in UTC with exactly three decimals."""
    moment = _EPOCH + ms * _MILLISECOND
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def choose(
    business_ms: int | None, published: Any, envelope_time: Any, sent_ms: int | None
) -> Moment | None:
    """Returns the first time that is not ahead of the queue's clock, or None if there is none."""
    latest = LAST_MS if sent_ms is None else sent_ms + AHEAD_MS
    for ms in (business_ms, maybe_ms(published)):
        if ms is not None and ms <= latest:
            return Moment(ms, WINDOW_MS if ms % 1000 else WHOLE_SECOND_WINDOW_MS, True)
    ms = maybe_ms(envelope_time)
    if ms is not None and ms <= latest:
        return Moment(ms, WHOLE_SECOND_WINDOW_MS, False)
    return None if sent_ms is None else Moment(sent_ms, SENT_WINDOW_MS, False)
