"""Composes keys whose parts stay readable, cannot run into each other, and fit DynamoDB."""

import json
import re
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

SK_BYTES = 1024
_LONGEST = 400  # bytes of one part; a longer one is hashed, for nobody reads it
# A UUID, as Genesys' ids are; a long number in hexadecimal; a ULID.
_MACHINE_MADE = re.compile(
    r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
    r"|[0-9a-f]{24,64}|[0-9A-F]{24,64}|[0-7][0-9A-HJKMNP-TV-Z]{25}"
).fullmatch
_FEWEST_DIGITS_OF_A_NUMBER = 5
_HASHED = "~"  # opens a hashed part; in a literal part it is always escaped


def sort_key(prefix: str, parts: Sequence[str], content: str | None = None) -> str:
    """Joins escaped parts and a digest, which goes last, into a sort key."""
    text = "/".join(parts if content is None else [*parts, _HASHED + content])
    if len((prefix + text).encode()) > SK_BYTES:
        text = _HASHED + _hash(text)
    return prefix + text


def part(text: str) -> str:
    """Escapes a part of a key, or hashes it if it is too long to be read anyway."""
    escaped = "".join(map(_escape, text[: _LONGEST + 1]))
    if len(text) > _LONGEST or len(escaped.encode()) > _LONGEST:
        return _HASHED + _hash(text)
    return escaped


def _escape(char: str) -> str:
    if char.isprintable() and char not in "%/~":
        return char
    return "".join(f"%{byte:02X}" for byte in _bytes(char))


def is_id(text: str) -> bool:
    """Returns true for random ids, which are no name, number or address of a person."""
    return bool(_MACHINE_MADE(text)) and not text.isdecimal() and not text.isalpha()


def is_word(text: str) -> bool:
    """Returns true for what may name a system: it holds no phone number and no address."""
    return "@" not in text and sum(map(str.isdecimal, text)) < _FEWEST_DIGITS_OF_A_NUMBER


def opaque(text: str) -> str:
    """Returns an id as it is, and hashes any other text: it may be about a person."""
    return text if is_id(text) else _HASHED + _hash(text)


def digest(value: Any) -> str:
    """Hashes canonical JSON: order of fields, spacing, nulls and 1.0 for 1 do not change it."""
    return _hash(canonical(value))


def canonical(value: Any) -> str:
    """Writes JSON with sorted names, without spaces and nulls, and 1.0 as 1."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Removes fields that are null, which say as much as absent ones, and fractions of zero."""
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _hash(text: str) -> str:
    return sha256(_bytes(text)).hexdigest()[:32]


def partition_key(organization_id: str | None, subject_type: str, subject: str) -> str:
    """Joins organisation, subject type and the subject, which is escaped already."""
    return f"{part(organization_id or '-')}/{part(subject_type)}/{subject}"


def idempotency_key(pk: str, sk: str) -> str:
    """Returns what a destination sees as the identity of the event."""
    return sha256(f"{pk}\n{sk}".encode()).hexdigest()
