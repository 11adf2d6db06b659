"""Reads an SQS record as the pipe passes it on, and what the project wrote around a message."""

from dataclasses import dataclass
from typing import Any

from once_enrichment.contract import CANARY
from once_enrichment.envelope import UnfitError, parse
from once_enrichment.keys import is_plain
from once_enrichment.times import maybe_ms

Element = dict[str, Any]


@dataclass(frozen=True)
class Message:
    """One queue message."""

    raw: str
    """The event as it came."""
    first_sent_ms: int | None
    """The time at which the first message of the event was sent."""
    delivery: Element
    """The fields that every element has of its message."""
    is_canary: bool


def read(record: Any) -> Message:
    """Returns the message; what a record lacks is empty, or 0."""
    attributes = record.get("attributes") or {}
    once, raw = _unwrap(record.get("body") or "")
    message_id = str(record.get("messageId") or "")
    sent_ms = maybe_ms(attributes.get("SentTimestamp"))
    first_sent_ms = _earlier(once.get("firstSentAtMs"), sent_ms)
    first_id, after = once.get("firstMessageId"), once.get("after")
    delivery: Element = {
        "messageId": message_id,
        "firstMessageId": first_id if first_id and isinstance(first_id, str) else message_id,
        "sentAtMs": sent_ms or 0,
        "firstSentAtMs": first_sent_ms or 0,
        "waitsSinceMs": _earlier(once.get("waitsSinceMs"), sent_ms) or 0,
        "receives": int(attributes.get("ApproximateReceiveCount") or 0),
    }
    if after and isinstance(after, str):
        delivery["after"] = after
    due_ms, reason = maybe_ms(once.get("dueAtMs")), once.get("reason")
    if due_ms is not None:  # the message was put back, not parked
        delivery["dueAtMs"] = due_ms
        delivery["lastReason"] = reason if isinstance(reason, str) and is_plain(reason) else ""
    is_canary = once.get("canary") is True or CANARY in (record.get("messageAttributes") or {})
    return Message(raw, first_sent_ms, delivery, is_canary)


def _unwrap(text: str) -> tuple[Element, str]:
    """Returns what `once` says of a message that the project sent, and the event in it."""
    if '"once"' in text:
        try:
            value = parse(text)
        except (UnfitError, RecursionError):
            return {}, text  # the message is no event either, which the normaliser says
        if isinstance(value, dict) and value.keys() == {"once", "event"}:
            once, raw = value["once"], value["event"]
            if isinstance(once, dict) and isinstance(raw, str):
                return once, raw
    return {}, text


def _earlier(value: Any, sent_ms: int | None) -> int | None:
    """Returns a time that a person may have written, but none after the message was sent."""
    return min(filter(None, (maybe_ms(value), sent_ms)), default=None)
