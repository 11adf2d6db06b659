"""Reads the state machine's questions; their contracts are schemas/pace-begin and pace-end."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .breaker import Row

VERSION = "1"

# The destination answered: it acted, or it rejected the event, or it may have acted.
_ANSWERED = ("ACTED", "REJECTED", "UNCERTAIN")
# The claim may be our own, put by an attempt whose response was lost.
_MAY_BE_OURS = ("CLAIM_UNANSWERED", "ROUND_FAILED")
# Enough to tell 20 events apart.
_KEY_DIGITS = 16

Json = Mapping[str, Any]


class NotUnderstoodError(Exception):
    """The machine and this function are not of the same release."""


@dataclass(frozen=True)
class Candidate:
    """An event for which a request would be sent, with the messages of its collapsed copies."""

    message_id: str
    occurred_ms: int
    receives: int
    sent_ms: int
    copies: Sequence[str] = ()


@dataclass(frozen=True)
class Begin:
    """Asked before the requests of a batch."""

    started_ms: int
    deadline_ms: int
    breaker: Row | None
    breaker_unread: bool
    events: Sequence[Candidate]


@dataclass(frozen=True)
class Pace:
    """The tokens and the probe of a batch; absent if it did not ask."""

    slot: int | None = None
    tokens: int = 0
    probe_ms: int | None = None


@dataclass(frozen=True)
class Returned:
    """An event that stays on the queue: the receipt of its message, and those of its copies."""

    receipts: Mapping[str, str]
    subject: str
    sent_ms: int
    reason: str
    lease_until_ms: int | None


@dataclass(frozen=True)
class End:
    """Asked after the requests of a batch."""

    started_ms: int
    breaker: Row | None
    pace: Pace
    requests: int
    answered: bool
    failures: Sequence[str]
    failed_ms: int | None
    retry_after_seconds: float | None
    own_action: bool
    events: Sequence[Returned]


def read(payload: Any) -> Begin | End:
    """Either question, or NotUnderstoodError."""
    try:
        if payload["version"] != VERSION:
            raise _not_understood(f"its version is not {VERSION}")
        return _begin(payload) if payload["ask"] == "begin" else _end(payload)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _not_understood(f"{type(error).__name__}: {error}") from None


def _begin(payload: Json) -> Begin:
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
                [copy["messageId"] for copy in _copies_of(event, payload["events"])],
            )
            for event in payload["events"]
            if "copyOf" not in event
        ],
    )


def _end(payload: Json) -> End:
    pace = payload.get("pace") or {}
    tokens = int(pace.get("tokens") or 0)
    started_ms = int(payload["startedMs"])
    records, messages = payload["records"], {one["messageId"]: one for one in payload["batch"]}
    requests = sum(int(record.get("requests") or 0) for record in records)
    if any(record["reason"] == "ROUND_FAILED" for record in records):
        requests = max(1, requests, tokens)  # its results are lost: each token may be used
    unnoted = [record for record in records if record.get("unnoted")]
    return End(
        started_ms=started_ms,
        breaker=_row(payload.get("breaker")),
        pace=Pace(_ms(pace, "slot"), tokens, _ms(pace, "probe")),
        requests=requests,
        answered=any(record["reason"] in _ANSWERED for record in records),
        failures=[
            messages[record["messageId"]]["idempotencyKey"][:_KEY_DIGITS]
            for record in unnoted
            if record.get("firstFailure")
        ],
        failed_ms=min([started_ms, *(int(record["failedAtMs"]) for record in unnoted)])
        if unnoted
        else None,
        retry_after_seconds=max(
            (record["retryAfterSeconds"] for record in records if "retryAfterSeconds" in record),
            default=None,
        ),
        own_action=bool(payload.get("ownAction")),
        events=[
            _returned(record, messages, int(payload["leaseUntilMs"]))
            for record in records
            if record["outcome"] == "RETRY" and "copyOf" not in record
        ],
    )


def _returned(record: Json, messages: Mapping[str, Json], lease_until_ms: int) -> Returned:
    message = messages[record["messageId"]]
    may_be_ours = record.get("unconfirmed") or record["reason"] in _MAY_BE_OURS
    together = [message, *_copies_of(message, messages.values())]
    return Returned(
        {one["messageId"]: one["receiptHandle"] for one in together},
        message["subjectKey"],
        int(message["sentAtMs"]),
        record["reason"],
        _ms(record, "leaseUntilMs") or (lease_until_ms if may_be_ours else None),
    )


def _copies_of(message: Json, messages: Iterable[Json]) -> Iterator[Json]:
    return (one for one in messages if one.get("copyOf") == message["messageId"])


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
