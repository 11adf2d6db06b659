"""Reads an SQS record as the pipe passes it on, and what the project wrote around a message."""

from typing import Any

from once_enrichment.contract import CANARY, VERSION
from once_enrichment.envelope import UnfitError, parse
from once_enrichment.keys import is_plain
from once_enrichment.times import maybe_ms

Element = dict[str, Any]


def read(record: Any) -> Element:
    """Returns the fields that every element has of its message.

    What a record lacks is empty, or 0.
    """
    attributes = record.get("attributes") or {}
    once, raw = _unwrap(record.get("body") or "")
    sent_ms = maybe_ms(attributes.get("SentTimestamp"))
    first_id, after = once.get("firstMessageId"), once.get("after")
    is_chained = isinstance(first_id, str) and first_id
    message: Element = {
        "version": VERSION,
        "firstMessageId": first_id if is_chained else str(record.get("messageId") or ""),
        "firstSentAtMs": _earlier(once.get("firstSentAtMs"), sent_ms),
        "waitsSinceMs": _earlier(once.get("waitsSinceMs"), sent_ms),
        "receives": int(attributes.get("ApproximateReceiveCount") or 0),
        "raw": raw,
    }
    if after and isinstance(after, str):
        message["after"] = after
    due_ms, reason = maybe_ms(once.get("dueAtMs")), once.get("reason")
    if due_ms is not None:  # the message was put back, not parked
        message["dueAtMs"] = due_ms
        message["lastReason"] = reason if isinstance(reason, str) and is_plain(reason) else ""
    if once.get("canary") is True or CANARY in (record.get("messageAttributes") or {}):
        message["canary"] = True
    return message


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


def _earlier(value: Any, sent_ms: int | None) -> int:
    """Returns a time that a person may have written, but none after the message was sent."""
    return min(filter(None, (maybe_ms(value), sent_ms)), default=0)
