"""Reads an SQS record as the pipe passes it on, and tolerates one that a person wrote."""

import json
from dataclasses import dataclass
from typing import Any

from once_enrichment.contract import CANARY, FIRST_SENT
from once_enrichment.times import maybe_ms

Element = dict[str, Any]


@dataclass(frozen=True)
class Message:
    """One queue message."""

    text: str
    sent_ms: int | None
    """The time of the first sending, if it is a replay."""
    delivery: Element
    """The fields that every element has of its message."""
    is_canary: bool

    @property
    def id(self) -> str:
        message_id: str = self.delivery["messageId"]
        return message_id


def read(record: Any) -> Message:
    """Returns the message; what a record lacks is empty, or 0."""
    fields = record if isinstance(record, dict) else {"body": record}
    attributes = _dict(fields.get("attributes"))
    marks = _dict(fields.get("messageAttributes"))
    receives = str(attributes.get("ApproximateReceiveCount", ""))
    sent_ms = maybe_ms(attributes.get("SentTimestamp"))
    delivery = {
        "messageId": as_text(fields.get("messageId")),
        "receiptHandle": as_text(fields.get("receiptHandle")),
        "receives": int(receives) if receives.isdecimal() and len(receives) < 10 else 0,
        "sentAtMs": sent_ms or 0,
    }
    first_ms = maybe_ms(_dict(marks.get(FIRST_SENT)).get("stringValue"))
    return Message(
        text=as_text(fields.get("body")),
        # A message cannot have been sent first after it was sent.
        sent_ms=min(filter(None, (first_ms, sent_ms)), default=None),
        delivery=delivery,
        is_canary=CANARY in marks,
    )


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_text(value: Any) -> str:
    """Returns text for what should have been text: a queue sends no other body, but people do."""
    if value is None:
        return ""
    if type(value) is not str:
        try:
            value = json.dumps(value)
        except (TypeError, ValueError, RecursionError):
            value = f"({type(value).__name__} that cannot be written as JSON)"
    return str(value).encode("utf-8", "backslashreplace").decode()
