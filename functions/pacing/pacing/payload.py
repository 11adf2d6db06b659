"""What the state machine asks, checked; the contract is in schemas/pace-begin and pace-end."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .breaker import Row

VERSION = "1"


class NotUnderstoodError(Exception):
    """The machine and this function are not of the same release."""


@dataclass(frozen=True)
class Candidate:
    """An event that would be called for."""

    message_id: str
    occurred_ms: int
    receives: int
    sent_ms: int


@dataclass(frozen=True)
class Begin:
    """Asked before the calls of a batch."""

    started_ms: int
    deadline_ms: int
    breaker: Row | None
    breaker_unread: bool
    events: Sequence[Candidate]


@dataclass(frozen=True)
class Pace:
    """What the batch was given; all absent where it did not ask."""

    slot: int | None = None
    tokens: int = 0
    probe_ms: int | None = None


@dataclass(frozen=True)
class HandedBack:
    """An event that stays on the queue, with the receipts of its message and of its copies."""

    message_id: str
    receipts: Sequence[str]
    subject: str
    sent_ms: int
    reason: str
    lease_until_ms: int | None


@dataclass(frozen=True)
class End:
    """Asked after the calls of a batch."""

    started_ms: int
    breaker: Row | None
    pace: Pace
    calls: int
    answered: bool
    failures: Sequence[str]
    failed_ms: int | None
    retry_after_seconds: float | None
    own_action: bool
    events: Sequence[HandedBack]


def read(payload: Any) -> Begin | End:
    """Either question, or NotUnderstoodError."""
    try:
        if payload["version"] != VERSION:
            raise _not_understood(f"its version is not {VERSION}")
        return _begin(payload) if payload["ask"] == "begin" else _end(payload)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _not_understood(f"{type(error).__name__}: {error}") from None


def _begin(payload: Mapping[str, Any]) -> Begin:
    return Begin(
        started_ms=int(payload["startedMs"]),
        deadline_ms=int(payload["deadlineMs"]),
        breaker=_row(payload.get("breaker")),
        breaker_unread=bool(payload.get("breakerUnread")),
        events=[
            Candidate(
                event["messageId"],
                int(event["occurredAtMs"]),
                int(event["receives"]),
                int(event["sentAtMs"]),
            )
            for event in payload["events"]
        ],
    )


def _end(payload: Mapping[str, Any]) -> End:
    pace = payload.get("pace") or {}
    return End(
        started_ms=int(payload["startedMs"]),
        breaker=_row(payload.get("breaker")),
        pace=Pace(_ms(pace, "slot"), int(pace.get("tokens") or 0), _ms(pace, "probe")),
        calls=int(payload["calls"]),
        answered=bool(payload["answered"]),
        failures=payload.get("failures") or [],
        failed_ms=_ms(payload, "failedAtMs"),
        retry_after_seconds=payload.get("retryAfterSeconds"),
        own_action=bool(payload.get("ownAction")),
        events=[
            HandedBack(
                event["messageId"],
                [event["receiptHandle"], *(event.get("copies") or [])],
                event["subjectKey"],
                int(event["sentAtMs"]),
                event["reason"],
                _ms(event, "leaseUntilMs"),
            )
            for event in payload["events"]
        ],
    )


def _row(breaker: Mapping[str, Any] | None) -> Row | None:
    if breaker is None:
        return None
    return Row(
        since_ms=_ms(breaker, "since"),
        failed=int(breaker.get("failed") or 0),
        open_until_ms=_ms(breaker, "openUntil"),
        not_before_ms=_ms(breaker, "notBefore"),
        held=breaker.get("held"),
    )


def _ms(values: Mapping[str, Any], name: str) -> int | None:
    """JSONata writes a whole number as it likes: 1.7e12 is one too."""
    value = values.get(name)
    return None if value is None else int(value)


def _not_understood(why: str) -> NotUnderstoodError:
    return NotUnderstoodError(
        f"the request is not version {VERSION} of the contract ({why}); "
        "deploy the state machine and this function from the same release"
    )
