"""Reads an SQS record as the pipe hands it over, and bears what no pipe would."""

import json
from typing import Any, NamedTuple

from enrichment.contract import FIRST_SENT
from enrichment.times import maybe_ms

Element = dict[str, Any]


class Message(NamedTuple):
    """One queue message."""

    text: str
    sent_ms: int | None  # of a replay, when it was sent first
    delivery: Element  # what every element says of its message

    @property
    def id(self) -> str:
        message_id: str = self.delivery["messageId"]
        return message_id


def read(record: Any) -> Message:
    try:
        message_id, text = record["messageId"], record["body"]
        handle, attributes = record["receiptHandle"], record["attributes"]
        receives = int(attributes["ApproximateReceiveCount"])
        sent_ms = maybe_ms(attributes["SentTimestamp"])
        replayed = record.get("messageAttributes")
    except (LookupError, TypeError, ValueError, AttributeError):
        return _read_carefully(record)
    if not (type(text) is type(message_id) is type(handle) is str and message_id.isascii()):
        return _read_carefully(record)
    if receives < 0 or sent_ms is None:
        return _read_carefully(record)
    delivery = {
        "messageId": message_id,
        "receiptHandle": handle,
        "receives": receives,
        "sentAtMs": sent_ms,
    }
    return Message(text, _first_ms(replayed, sent_ms) if replayed else sent_ms, delivery)


def _read_carefully(record: Any) -> Message:
    """Of a record that somebody made by hand: what is missing is empty, or 0."""
    fields = record if isinstance(record, dict) else {"body": record}
    attributes = fields.get("attributes")
    attributes = attributes if isinstance(attributes, dict) else {}
    receives = str(attributes.get("ApproximateReceiveCount", ""))
    sent_ms = maybe_ms(attributes.get("SentTimestamp"))
    delivery = {
        "messageId": as_text(fields.get("messageId")),
        "receiptHandle": as_text(fields.get("receiptHandle")),
        "receives": int(receives) if receives.isdecimal() and len(receives) < 10 else 0,
        "sentAtMs": sent_ms or 0,
    }
    first_ms = _first_ms(fields.get("messageAttributes"), sent_ms)
    return Message(as_text(fields.get("body")), first_ms, delivery)


def _first_ms(attributes: Any, sent_ms: int | None) -> int | None:
    """The time that a replayed message carries; one after its own SentTimestamp is not believed."""
    attribute = attributes.get(FIRST_SENT) if isinstance(attributes, dict) else None
    first_ms = maybe_ms(attribute.get("stringValue")) if isinstance(attribute, dict) else None
    return min(filter(None, (first_ms, sent_ms)), default=None)


def as_text(value: Any) -> str:
    """What should have been text: a queue sends no body that is an object, but people do."""
    if value is None:
        return ""
    if type(value) is not str:
        try:
            value = json.dumps(value)
        except (TypeError, ValueError, RecursionError):
            value = f"({type(value).__name__} that cannot be written as JSON)"
    return str(value).encode("utf-8", "backslashreplace").decode()
