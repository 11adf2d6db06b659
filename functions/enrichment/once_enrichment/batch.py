"""Enriches a whole batch: normalise each message, collapse the copies, fit what is left."""

from typing import Any

from pydantic_core import to_json

from once_enrichment.collapse import collapse
from once_enrichment.contract import RetryReason
from once_enrichment.message import Element, read
from once_enrichment.normalise import prepare
from once_enrichment.overflow import Write, fit, returned
from once_enrichment.routes import Routes


def enrich(records: list[Any], write: Write, routes: Routes | None = None) -> list[Element]:
    """Returns one element for each SQS message, in their order.

    SQS may deliver a message twice, and a batch may hold both. The pipe deletes and returns
    messages by their messageId, so one element stands for both; the receipt handle of the second
    is the one that SQS takes.
    """
    prepared = [prepare(record, routes) for record in unique(records)]
    elements = collapse([element for element, _ in prepared])
    texts = [
        text if element is one else to_json(one)
        for (element, text), one in zip(prepared, elements, strict=True)
    ]
    return fit(elements, texts, write)


def refuse(records: list[Any], reason: RetryReason, detail: str) -> list[Element]:
    """Returns one element for each SQS message that returns it to the queue."""
    return [returned(read(record).delivery, reason, detail) for record in unique(records)]


def unique(records: list[Any]) -> list[Any]:
    """Returns the records without those that another one with the same messageId follows."""
    last = {}
    for at, record in enumerate(records):
        message_id = record.get("messageId") if isinstance(record, dict) else None
        last[message_id if message_id and isinstance(message_id, str) else at] = record
    return list(last.values())
