"""The request of the state machine, the time for an event, and the JSON that a webhook gets.

The body of an event is cut from the message as it came: no digit of a number is rounded.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from .errors import NotConfigured, NotNow

Clock = Callable[[], int]
"""Returns the time in epoch milliseconds."""

VERSION = "3"
_WEBHOOK_VERSION = "1"

# Less than this is not enough for a response: its result would only be unknown.
_SHORTEST_REQUEST_SECONDS = 0.1

_KEY = re.compile(r"[0-9a-f]{64}(\.[0-9]{1,16})?")
_EVENT_FIELDS = (
    *("family", "topic", "subject", "occurredAt", "occurredAtMs", "ids", "key"),
    *("raw", "bodyPath", "waitsSinceMs"),
)
_TIMES = ("occurredAtMs", "waitsSinceMs")

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class Tries:
    """The tries of an event, and when it failed last; 0 if it never has.

    They are those of its failures that say something about the event itself: its first, and each
    before which a request has succeeded since its last one. So an outage costs an event at most
    one try.
    """

    count: int = 0
    failed_at_ms: int = 0

    def after_failure(self, since_ms: int | None, now_ms: int) -> "Tries":
        """Counts a failure. `since_ms` is the row's after the failure was noted; None if unknown.

        The next success deletes the row, so a row that began after the event's last failure
        proves that a request succeeded between them.
        """
        succeeded = since_ms is not None and since_ms > self.failed_at_ms
        return Tries(self.count + (not self.count or succeeded), now_ms)

    def are_over(self, most: int, before: "Tries") -> bool:
        """Returns true if this failure was the last try. A later one in an outage never is."""
        return self.count >= most and self.count > before.count


@dataclass(frozen=True)
class ActionRequest:
    """The payload of the state machine's task, checked.

    `deaths` counts the claims of this event in which the function ended without an answer, since
    it answered last. `retry` is 1 if a first request of this execution failed.
    """

    event: Mapping[str, Any]
    idempotency_key: str
    owner: str
    tries: Tries
    deaths: int
    retry: int

    @classmethod
    def read(cls, payload: Any) -> "ActionRequest":
        try:
            version, event, owner = payload["version"], payload["event"], payload["owner"]
            key = payload["idempotencyKey"]
            tries = Tries(_whole(payload["tries"]), _whole(payload["failedAtMs"]))
            deaths, retry = _whole(payload.get("deaths", 0)), _whole(payload.get("retry", 0))
            needed = {name: event[name] for name in _EVENT_FIELDS}
            event = {**event, **{name: _whole(needed[name]) for name in _TIMES}}
        except (AttributeError, KeyError, TypeError, ValueError):
            raise _not_understood("a field is missing or is no number") from None
        if version != VERSION:
            raise _not_understood(f"its version is not {VERSION}")
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise _not_understood("its idempotencyKey is not 64 hex digits and an occurrence")
        return cls(event, key, str(owner), tries, deaths, retry)

    @property
    def is_canary(self) -> bool:
        """Reads the mark of the enrichment. The contents of an event cannot set it."""
        return self.event.get("canary") is True


def _whole(value: Any) -> int:
    # JSONata writes a whole number as it likes: 1.7e12 is one too.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return int(value)


def _not_understood(why: str) -> NotConfigured:
    return NotConfigured(
        f"the request is not version {VERSION} of the contract: {why}; "
        "deploy the state machine and this function from the same release"
    )


class Budget:
    """Bounds the requests of an event: when they may begin, and how long all may take together."""

    def __init__(self, until_ms: int, request_ms: int, now_ms: Clock) -> None:
        self._now_ms = now_ms
        self._until_ms = until_ms
        self._request_ms = request_ms
        self.started_ms: int | None = None

    def seconds_for_a_request(self) -> float:
        """Returns what is left of the time, which begins with the first request."""
        self.check_deadline()
        now_ms = self._now_ms()
        left = ((self.started_ms or now_ms) + self._request_ms - now_ms) / 1_000
        if left < _SHORTEST_REQUEST_SECONDS:
            raise NotNow("no time was left to wait for a response: nothing was sent")
        self.started_ms = self.started_ms or now_ms
        return left

    def check_deadline(self) -> None:
        """Raises NotNow: no token of a limit is good after it, however long connecting took."""
        if self._now_ms() >= self._until_ms:
            raise NotNow("no time was left to begin: nothing was sent")


@dataclass(frozen=True)
class Subject:
    type: str
    id: str


@dataclass(frozen=True)
class Key:
    pk: str
    sk: str


@dataclass(frozen=True)
class WebhookRequest:
    """The JSON a webhook receives. What an event does not have is left out."""

    version: str
    """Version of this contract."""
    idempotencyKey: str  # noqa: N815 — the names on the wire
    """Also in the Idempotency-Key header."""
    family: str
    """The kind of event."""
    topic: str
    """The topic as it was received; an event of your own has its detail-type if that holds known
    words alone, else an empty text."""
    subject: Subject
    """The subject of the event."""
    occurredAt: str  # noqa: N815
    """The time of the event: ISO 8601, UTC, milliseconds."""
    occurredAtMs: int  # noqa: N815
    """The same in epoch milliseconds: compare before you overwrite."""
    ids: dict[str, str]
    """All ids that were found, by name."""
    key: Key
    """Identity of the event: copies share it, other events never do."""
    body: Any
    """The event's own body, untouched."""
    organizationId: str | None = None  # noqa: N815
    """The Genesys Cloud organisation."""
    state: str | None = None
    """The new state, if the family tells it in one word."""
    publishedAt: str | None = None  # noqa: N815
    """The time at which its publisher sent it."""
    metadata: dict[str, Any] | None = None
    """The metadata that Genesys sent beside the body, without the correlation id."""
    trace: dict[str, str] | None = None
    """Ids that follow an event through logs; copies differ in them."""


_WEBHOOK_FIELDS = tuple(each.name for each in fields(WebhookRequest) if each.name != "body")


def webhook_text(request: ActionRequest) -> str:
    """Writes a WebhookRequest: the event's own fields, and its body digit by digit as it came."""
    event = request.event
    message = {name: event[name] for name in _WEBHOOK_FIELDS if event.get(name) is not None}
    message["version"] = _WEBHOOK_VERSION
    message["idempotencyKey"] = request.idempotency_key
    head = json.dumps(message, separators=(",", ":"))
    return f'{head[:-1]},"body":{body_text(event)}}}'


def encode(text: str) -> bytes:
    """Encodes JSON text. Half of a pair of surrogates becomes the escape that JSON has for it."""
    return text.encode(errors="backslashreplace")


def body_text(event: Mapping[str, Any]) -> str:
    """Returns the JSON text of the body, at `bodyPath` in `raw`. A text on the way holds JSON."""
    try:
        text = _unwrap(event["raw"])
        for key in event["bodyPath"]:
            text = _unwrap(_member(text, key))
    except (KeyError, TypeError, ValueError, IndexError, RecursionError):
        raise NotConfigured(
            "bodyPath names no body in this event; "
            "deploy the enrichment and this function from the same release"
        ) from None
    # Genesys sends some events without a body, such as that of a station that a user leaves.
    return "{}" if text == "null" else text


def _unwrap(text: str) -> str:
    text = text.strip(" \t\r\n")
    return str(json.loads(text)).strip(" \t\r\n") if text.startswith('"') else text


def _member(text: str, key: str) -> str:
    """Returns the text of an object's member; of the last one, if several have this name."""
    if text[0] != "{":
        raise KeyError(key)
    member = None
    position = _skip(text, 1)
    while text[position] != "}":
        name, position = _DECODER.raw_decode(text, position)
        begin = _skip(text, _skip(text, position) + 1)  # behind the colon
        _, end = _DECODER.raw_decode(text, begin)
        if name == key:
            member = text[begin:end]
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    if member is None:
        raise KeyError(key)
    return member


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position
