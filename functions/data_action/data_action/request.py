"""What the state machine asks for, how long it may take, and what is said to a webhook."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Protocol

from .errors import NotConfigured, TooLate

VERSION = "2"
_WEBHOOK_VERSION = "1"

# Less than this is not enough for an answer: the call would only become one more unknown.
_SHORTEST_REQUEST_SECONDS = 0.1
# What the function needs to note what happened and to answer before Lambda stops it.
_ANSWER_MARGIN_MS = 1_000

_KEY = re.compile(r"[0-9a-f]{64}(\.[0-9]{1,16})?")
_EVENT_FIELDS = ("family", "topic", "subject", "occurredAt", "occurredAtMs", "ids", "key")


@dataclass(frozen=True)
class ReadRow:
    """What the batch had read of the breaker's row; there was none where both are absent."""

    since_ms: int | None = None
    not_before_ms: int | None = None

    @property
    def there(self) -> bool:
        return self.since_ms is not None or self.not_before_ms is not None


@dataclass(frozen=True)
class ActionRequest:
    """The payload of the state machine's task, checked."""

    event: Mapping[str, Any]
    idempotency_key: str
    deadline_ms: int
    execution: str
    calls_allowed: int
    retry: int
    failed_before: bool
    row: ReadRow

    @classmethod
    def read(cls, payload: Any) -> "ActionRequest":
        try:
            version, event = payload["version"], payload["event"]
            key, execution = payload["idempotencyKey"], payload["execution"]
            deadline_ms = _whole("deadlineMs", payload["deadlineMs"])
            calls_allowed = _whole("callsAllowed", payload["callsAllowed"])
            retry = _whole("retry", payload.get("retry", 0))
            pace = payload.get("pace") or {}
            row = ReadRow(
                *(
                    _whole(name, pace[name]) if name in pace else None
                    for name in ("since", "notBefore")
                )
            )
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
            calls_allowed=calls_allowed,
            retry=retry,
            failed_before=payload.get("failedBefore") is True,
            row=ReadRow() if payload.get("breakerUnread") is True else row,
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
    """What is used of Lambda's context."""

    def get_remaining_time_in_millis(self) -> int: ...


class Budget:
    """When a call may begin: before the deadline. How long it may take, logging in included."""

    def __init__(
        self, deadline_ms: int, call_ms: int, remaining_ms: int, now_ms: Callable[[], int]
    ) -> None:
        self._now_ms = now_ms
        self._deadline_ms = deadline_ms
        self._call_ms = call_ms
        self._ends_ms = now_ms() + remaining_ms - _ANSWER_MARGIN_MS
        self.started_ms: int | None = None

    def seconds_for_a_request(self) -> float:
        """What is left of the call's time, which begins with its first request."""
        now_ms = self._now_ms()
        if now_ms >= self._deadline_ms:
            raise TooLate("the deadline had passed: nothing was sent")
        ends_ms = min(self._ends_ms, (self.started_ms or now_ms) + self._call_ms)
        left = (ends_ms - now_ms) / 1000
        if left < _SHORTEST_REQUEST_SECONDS:
            raise TooLate("no time was left to wait for an answer: nothing was sent")
        self.started_ms = self.started_ms or now_ms
        return left


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
    idempotencyKey: str  # noqa: N815 — the names on the wire
    family: str
    topic: str
    subject: Subject
    occurredAt: str  # noqa: N815
    occurredAtMs: int  # noqa: N815
    ids: dict[str, str]
    key: Key
    body: Any
    organizationId: str | None = None  # noqa: N815
    state: str | None = None
    publishedAt: str | None = None  # noqa: N815
    trace: dict[str, str] | None = None


_WEBHOOK_FIELDS = tuple(field.name for field in fields(WebhookRequest))


def webhook_request(request: ActionRequest, body: Any) -> dict[str, Any]:
    """A WebhookRequest as it is written: the event's own fields under the same names."""
    event = request.event
    message = {name: event[name] for name in _WEBHOOK_FIELDS if event.get(name) is not None}
    message["version"] = _WEBHOOK_VERSION
    message["idempotencyKey"] = request.idempotency_key
    message["body"] = body
    return message
