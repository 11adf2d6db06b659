"""Composes keys whose parts stay readable, cannot run into each other, and fit DynamoDB."""

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

SK_BYTES = 1024
_PART_BYTES = 200
_HASHED = "~"  # opens a hashed part; in a literal part it is always escaped
_ESCAPED = ("%", "/", "~")


def compose(prefix: str, parts: Sequence[str], content: str | None = None) -> str:
    """`prefix` and the parts behind it, joined by `/`; `content` is a digest that goes last."""
    text = "/".join(parts)
    if (
        len(text) > 600
        or not text.isascii()
        or not text.isprintable()
        or "%" in text
        or "~" in text
        or text.count("/") != len(parts) - 1
    ):
        text = "/".join(map(_part, parts))
    if content is not None:
        text = f"{text}/{_HASHED}{content}" if parts else _HASHED + content
    text = prefix + text
    if len(text) > 600 and len(text.encode()) > SK_BYTES:
        return prefix + _HASHED + _hex(text.encode())
    return text


def _part(text: str) -> str:
    escaped = "".join(
        "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
        if char in _ESCAPED or not char.isprintable()
        else char
        for char in text[: _PART_BYTES + 1]
    )
    if len(text) > _PART_BYTES or len(escaped.encode()) > _PART_BYTES:
        return _HASHED + _hex(text.encode("utf-8", "surrogatepass"))
    return escaped


def digest(value: Any) -> str:
    """A short hash of canonical JSON: neither the order of fields nor spacing changes it."""
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, check_circular=False
    )
    return _hex(text.encode("utf-8", "surrogatepass"))


def _hex(data: bytes) -> str:
    return sha256(data).hexdigest()[:32]


def idempotency_key(pk: str, sk: str) -> str:
    """What a destination sees as the identity of the event."""
    return sha256(f"{pk}\n{sk}".encode()).hexdigest()
