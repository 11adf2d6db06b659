"""Enriches a whole batch: normalise each message, collapse the copies, fit what is left."""

import re
from typing import Any

from pydantic_core import to_json

from enrichment.collapse import collapse
from enrichment.normalise import MOST_OTHER_CHARS, normalise
from enrichment.overflow import LIMIT_BYTES, Element, Write, fit

_KEYS_BYTES = 4500  # of the keys of an element, twice its pk, and of its fields' names

# What is left of `[1.5e-7` once only these are kept is `:e`, while true and false leave `:ue` and
# `:se`, and a string its quote.
_KEPT = b':,[eE"us'
_DROPPED = bytes(byte for byte in range(256) if byte not in _KEPT)
_MARKS = bytes.maketrans(b",[E", b"::e")
_EXPONENT = re.compile(b":e").search  # thrice as fast here as `in`
# A float of more digits than this would be infinite; some twelve of them are on a grid of 25.
_STRIDE = 25
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_TOO_MANY_DIGITS = b"0" * (300 // _STRIDE)


def enrich(records: list[Any], write: Write) -> list[Element]:
    """One element for each SQS record, in their order."""
    elements = [normalise(record) for record in records]
    if "parked" not in [element["kind"] for element in elements] and _is_harmless(records):
        return collapse(elements)
    if b"Infinity" in to_json(elements):
        elements = [normalise(record, distrust_numbers=True) for record in records]
    return fit(collapse(elements), write)


def _is_harmless(records: list[Any]) -> bool:
    """Whether the events of these records fit and can be written again, by their texts alone.

    So it is with most batches, and to write them for an exact measure would cost as much as
    everything else (bench/enrichment.py). In plain ASCII every writer of JSON escapes alike, and
    without exponents no number gets longer or infinite. Besides its body and keys an element
    tells no text of its message more than three times.
    """
    try:
        text = "".join([record["body"] for record in records])
    except (LookupError, TypeError):
        return False
    others = min(3 * len(text), MOST_OTHER_CHARS * len(records))
    most = 1.5 * len(text) + others + _KEYS_BYTES * len(records)  # 1.5: a space after each comma
    if most > LIMIT_BYTES or not text.isascii():
        return False
    data = text.encode()
    if b"\x7f" in data or (b"\\" in data and b"\\u" in data):
        return False
    if _TOO_MANY_DIGITS in data[::_STRIDE].translate(_DIGITS):
        return False
    return _EXPONENT(data.translate(_MARKS, _DROPPED)) is None
