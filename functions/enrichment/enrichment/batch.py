"""Enriches a whole batch: normalise each message, collapse the copies, fit what is left."""

from typing import Any

from pydantic_core import to_json

from enrichment.budget import Budget
from enrichment.collapse import collapse
from enrichment.message import Element
from enrichment.normalise import prepare
from enrichment.overflow import Write, fit


def enrich(records: list[Any], write: Write) -> list[Element]:
    """One element for each SQS record, in their order."""
    with Budget() as budget:
        prepared = [prepare(record, budget) for record in records]
    before = [element for element, _ in prepared]
    elements = collapse(before)
    if elements is before:
        return fit(elements, [text for _, text in prepared], write)
    texts = [
        text if element is one else to_json(one)
        for (element, text), one in zip(prepared, elements, strict=True)
    ]
    return fit(elements, texts, write)
