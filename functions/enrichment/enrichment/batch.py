"""Enriches a whole batch: normalise each message, collapse the copies, fit what is left."""

from typing import Any

from pydantic_core import to_json

from enrichment.collapse import collapse
from enrichment.normalise import MOST_OTHER_CHARS, normalise
from enrichment.overflow import LIMIT_BYTES, Element, Write, fit

_KEYS_BYTES = 4500  # of the keys of an element, twice its pk, and of its fields' names


def enrich(records: list[Any], write: Write) -> list[Element]:
    """One element for each SQS record, in their order."""
    normalised = [normalise(record) for record in records]
    bodies = to_json([one.get("body") or one.get("raw") for one in normalised])
    if b"Infinity" in bodies:
        normalised = [normalise(record, distrust_numbers=True) for record in records]
    elements = collapse(normalised)
    return elements if _is_small(records, bodies) else fit(elements, write)


def _is_small(records: list[Any], bodies: bytes) -> bool:
    """Whether the batch fits however it is written; most do, and need no exact measure.

    Besides its body and keys an element tells no text of its message more than three times.
    """
    try:
        texts = [record["body"] for record in records]
        if not all(map(str.isascii, texts)):
            return False
    except (LookupError, TypeError):
        return False
    others = min(3 * sum(map(len, texts)), MOST_OTHER_CHARS * len(texts))
    most = 1.5 * len(bodies) + others + _KEYS_BYTES * len(texts)  # 1.5: a space after each comma
    return most <= LIMIT_BYTES and bodies.isascii() and b"\x7f" not in bodies
