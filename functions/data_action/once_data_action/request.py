"""The request of the state machine, its deadline, and the body for a webhook."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

from .errors import NotConfigured, TooLate

VERSION = "2"
_WEBHOOK_VERSION = "1"

# Less than this is not enough for a response: its result would only be unknown.
_SHORTEST_REQUEST_SECONDS = 0.1
# What the function needs to note what happened and to answer before Lambda stops it.
_ANSWER_MARGIN_MS = 1_000

_KEY = re.compile(r"[0-9a-f]{64}(\.[0-9]{1,16})?")
_EVENT_FIELDS = ("family", "topic", "subject", "occurredAt", "occurredAtMs", "ids", "key")


@dataclass(frozen=True)
class Pace:
    """The breaker's row as the batch read it; there was none if `since_ms` is absent."""

    read_ms: int | None = None  # absent if the batch could not read it
    since_ms: int | None = None
    probe_ms: int | None = None  # until when this batch probes


@dataclass(frozen=True)
class ActionRequest:
    """The payload of the state machine's task, checked."""

    event: Mapping[str, Any]
    idempotency_key: str
    deadline_ms: int
    execution: str
    requests_allowed: int
    retry: int
    failed_before: bool
    pace: Pace

    @classmethod
    def read(cls, payload: Any) -> "ActionRequest":
        try:
            version, event = payload["version"], payload["event"]
            key, execution = payload["idempotencyKey"], payload["execution"]
            deadline_ms = _whole("deadlineMs", payload["deadlineMs"])
            requests_allowed = _whole("requestsAllowed", payload["requestsAllowed"])
            retry = _whole("retry", payload.get("retry", 0))
            pace = payload.get("pace") or {}
            known = [
                _whole(name, pace[name]) if name in pace else None
                for name in ("readMs", "since", "probe")
            ]
            complete = all(name in event for name in _EVENT_FIELDS)
        except (AttributeError, KeyError, TypeError):
            raise _not_understood("a field is missing") from None
        if version != VERSION:
            raise _not_understood(f"its version is not {VERSION}")
        if not complete or not ("body" in event or "bodyRef" in event):
            raise _not_understood("its event is not complete")
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise _not_understood("its idempotencyKey is not 64 hex digits and an occurrence")
        return cls(
            event=event,
            idempotency_key=key,
            deadline_ms=deadline_ms,
            execution=str(execution),
            requests_allowed=requests_allowed,
            retry=retry,
            failed_before=payload.get("failedBefore") is True,
            pace=Pace(*known),
        )


def _whole(name: str, value: Any) -> int:
    # JSONata writes a whole number as it likes: 1.7e12 is one too.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _not_understood(f"its {name} is not a number")
    return int(value)


def _not_understood(why: str) -> NotConfigured:
    return NotConfigured(
        f"the request is not version {VERSION} of the contract: {why}; "
        "deploy the state machine and this function from the same release"
    )


class Context(Protocol):
    """The part of Lambda's context that is used."""

    def get_remaining_time_in_millis(self) -> int: ...


class Budget:
    """Bounds the requests of an event: when they may begin, and how long all may take together."""

    def __init__(
        self, deadline_ms: int, request_ms: int, remaining_ms: int, now_ms: Callable[[], int]
    ) -> None:
        self._now_ms = now_ms
        self._deadline_ms = deadline_ms
        self._request_ms = request_ms
        self._ends_ms = now_ms() + remaining_ms - _ANSWER_MARGIN_MS
        self.started_ms: int | None = None

    def seconds_for_a_request(self) -> float:
        """Returns what is left of the time, which begins with the first request."""
        self.check_deadline()
        now_ms = self._now_ms()
        ends_ms = min(self._ends_ms, (self.started_ms or now_ms) + self._request_ms)
        left = (ends_ms - now_ms) / 1000
        if left < _SHORTEST_REQUEST_SECONDS:
            raise TooLate("no time was left to wait for an answer: nothing was sent")
        self.started_ms = self.started_ms or now_ms
        return left

    def check_deadline(self) -> None:
        """Raises TooLate: no token of a limit is good after it, however long connecting took."""
        if self._now_ms() >= self._deadline_ms:
            raise TooLate("its batch had no time left: nothing was sent")


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
    """The topic as it was received; of an event of your own, its detail-type where that holds
    known words alone, else empty."""
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


_WEBHOOK_FIELDS = tuple(field.name for field in fields(WebhookRequest))


def webhook_request(request: ActionRequest, body: Any) -> dict[str, Any]:
    """A WebhookRequest as it is written: the event's own fields under the same names."""
    event = request.event
    message = {name: event[name] for name in _WEBHOOK_FIELDS if event.get(name) is not None}
    message["version"] = _WEBHOOK_VERSION
    message["idempotencyKey"] = request.idempotency_key
    message["body"] = body
    return message
