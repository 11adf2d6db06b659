"""Enriches a whole batch: normalise each message, collapse the copies, fit what is left."""

from typing import Any

from pydantic_core import to_json

from enrichment.collapse import collapse
from enrichment.normalise import normalise
from enrichment.overflow import LIMIT_BYTES, Element, Write, fit


def enrich(records: list[Any], write: Write) -> list[Element]:
    """One element for each SQS record, in their order."""
    normalised = [normalise(record) for record in records]
    is_small = _is_small(records)
    text = to_json([one.get("body") for one in normalised] if is_small else normalised)
    if b"Infinity" in text:
        normalised = [normalise(record, distrust_numbers=True) for record in records]
    elements = collapse(normalised)
    if is_small or (text.isascii() and b"\x7f" not in text and 2 * len(text) <= LIMIT_BYTES):
        return elements
    return fit(elements, write)


def _is_small(records: list[Any]) -> bool:
    """Whether the batch fits however its elements are written, by the length of its texts.

    An element repeats a text of its message at most four times over all (body, ids, subject,
    topic or trace), a number grows to at most five times its length, and its keys are short.
    """
    try:
        texts = [record["body"] for record in records]
        is_ascii = all(map(str.isascii, texts))
    except (LookupError, TypeError):
        return False
    return is_ascii and 8 * sum(map(len, texts)) + 4500 * len(texts) <= LIMIT_BYTES
