"""Composes keys whose parts stay readable, cannot run into each other, and fit DynamoDB."""

import json
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

SK_BYTES = 1024
_PART_BYTES = 200
_HASHED = "~"  # opens a hashed part; in a literal part it is always escaped
_PLAIN_CHARS = 600  # fewer cannot pass the limit of a key, however long its prefix


def is_plain(text: str, slashes: int) -> bool:
    """True where parts joined by `/` need no escape, so the text can stand in a key as it is."""
    return (
        text.isascii()
        and text.isprintable()
        and "%" not in text
        and "~" not in text
        and text.count("/") == slashes
        and len(text) < _PLAIN_CHARS
    )


def compose(prefix: str, parts: Sequence[str], content: str | None = None) -> str:
    """A sort key: `prefix`, the parts joined by `/`, and at last the digest of the content."""
    text = "/".join(parts)
    if not is_plain(text, len(parts) - 1):
        text = "/".join(map(part, parts))
    if content is not None:
        text = f"{text}/{_HASHED}{content}" if parts else _HASHED + content
    if len(text) >= _PLAIN_CHARS and len((prefix + text).encode()) > SK_BYTES:
        text = _HASHED + _hex(text.encode())
    return prefix + text


def part(text: str) -> str:
    """A part of a key, escaped, or hashed where it is too long to be read anyway."""
    if len(text) <= _PART_BYTES and is_plain(text, 0):
        return text
    escaped = "".join(map(_char, text[: _PART_BYTES + 1]))
    if len(text) > _PART_BYTES or len(escaped.encode()) > _PART_BYTES:
        return _HASHED + _hex(_bytes(text))
    return escaped


def _char(char: str) -> str:
    if char.isprintable() and char not in "%/~":
        return char
    return "".join(f"%{byte:02X}" for byte in _bytes(char))


def digest(value: Any) -> str:
    """A short hash of canonical JSON: order of fields, spacing and nulls do not change it."""
    text = _canonical(value)
    if "null" in text:
        text = _canonical(_without_nulls(value))
    return _hex(_bytes(text))


def _canonical(value: Any) -> str:
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, check_circular=False
    )


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(part) for name, part in value.items() if part is not None}
    return [_without_nulls(part) for part in value] if isinstance(value, list) else value


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _hex(data: bytes) -> str:
    return sha256(data).hexdigest()[:32]


@lru_cache(maxsize=1024)
def partition(organization_id: str | None, subject_type: str) -> str:
    """What the pk holds before the subject."""
    return f"{part(organization_id or '-')}/{part(subject_type)}/"


def idempotency_key(pk: str, sk: str) -> str:
    """What a destination sees as the identity of the event."""
    return sha256(f"{pk}\n{sk}".encode()).hexdigest()
