"""Composes keys whose parts stay readable, cannot run into each other, and fit DynamoDB."""

import json
import re
from collections.abc import Sequence
from hashlib import sha256
from json.encoder import encode_basestring_ascii
from typing import Any

KEY_VERSION = "v2"  # another version repeats the events in flight
SK_BYTES = 1024
_LONGEST = 400  # bytes of one part; a longer part is hashed, since no person reads it
# A UUID, as Genesys' ids are; a long number in hexadecimal; a ULID.
_MACHINE_MADE = re.compile(
    r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
    r"|[0-9a-f]{24,64}|[0-9A-F]{24,64}|[0-7][0-9A-HJKMNP-TV-Z]{25}"
).fullmatch
_PLAIN = re.compile(r"[A-Za-z0-9 .:_/-]{1,100}").fullmatch
_FEWEST_DIGITS_OF_A_NUMBER = 5
_NO_WORD = re.compile(r"[^0-9A-Za-z]+")
_HASHED = "~"  # opens a hashed part; in a literal part it is always escaped
_EMPTY = ("null", "{}", "[]")


def sort_key(prefix: str, parts: Sequence[str], content: str | None = None) -> str:
    """Joins escaped parts and a digest, which goes last, into a sort key."""
    text = "/".join(parts if content is None else [*parts, _HASHED + content])
    if len((prefix + text).encode()) > SK_BYTES:
        text = _HASHED + _hash(text)
    return prefix + text


def part(text: str) -> str:
    """Escapes a part of a key, or hashes it if it is too long to be read anyway."""
    escaped = "".join(map(_escape, text[: _LONGEST + 1]))
    return escaped if len(escaped.encode()) <= _LONGEST else _HASHED + _hash(text)


def _escape(char: str) -> str:
    if char.isprintable() and char not in "%/~":
        return char
    return "".join(f"%{byte:02X}" for byte in char.encode())


def is_id(text: str) -> bool:
    """Returns true for random ids, which are no name, number or address of a person."""
    return bool(_MACHINE_MADE(text)) and not text.isdecimal() and not text.isalpha()


def is_plain(text: str) -> bool:
    """Returns true for text that looks like the name of a kind, a status or a system.

    It has few digits and no `@`, so it is neither a phone number nor an address.
    """
    return bool(_PLAIN(text)) and sum(map(str.isdecimal, text)) < _FEWEST_DIGITS_OF_A_NUMBER


def opaque(text: str) -> str:
    """Returns an id as it is, and hashes any other text: it may be about a person."""
    return text if is_id(text) else _HASHED + _hash(text)


def family_of(text: str) -> str:
    """Makes the name of a family of a kind; a kind that is not plain is hashed."""
    if is_plain(text):
        return _NO_WORD.sub(".", text).strip(".").lower() or "event"
    return f"event.{_hash(text)[:8]}"


def ascii_only(text: str) -> str:
    """Returns text for a log, with `?` in place of other characters."""
    return text.encode("ascii", "replace").decode()


def digest(value: Any) -> str:
    """Hashes canonical JSON."""
    return _hash(canonical(value))


def canonical(value: Any) -> str:
    """Writes JSON of which no copy has another spelling.

    Fields and items of lists are sorted, 1.0 is 1, and a field that is null or empty is absent.
    """
    if isinstance(value, str):
        return encode_basestring_ascii(value)  # most values; json.dumps takes four times as long
    if isinstance(value, dict):
        texts = [(name, canonical(inner)) for name, inner in value.items()]
        fields = [f"{canonical(name)}:{text}" for name, text in texts if text not in _EMPTY]
        return f"{{{','.join(sorted(fields))}}}"
    if isinstance(value, list):
        return f"[{','.join(sorted(map(canonical, value)))}]"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value)


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]


def partition_key(organization_id: str | None, subject_type: str, subject: str) -> str:
    """Joins organisation, subject type and the subject, which is escaped already."""
    return f"{part(organization_id or '-')}/{part(subject_type)}/{subject}"


def key_hash(pk: str, sk: str) -> str:
    """Returns the Idempotency-Key of an event whose state cannot return."""
    return sha256(f"{pk}\n{sk}".encode()).hexdigest()
