"""Composes keys whose parts stay readable, cannot run into each other, and fit DynamoDB."""

import json
import re
from collections.abc import Sequence
from functools import lru_cache
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
_CANONICAL = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, check_circular=False
)


def is_plain(text: str, slashes: int) -> bool:
    """True where parts joined by `/` need no escape, so the text can stand in a key as it is."""
    return (
        text.isascii()
        and "%" not in text
        and "~" not in text
        and "\n" not in text  # parts pk from sk in the idempotency key
        and "\x1b" not in text  # and no terminal must obey a key
        and text.count("/") == slashes
        and len(text) <= _LONGEST
    )


def compose(prefix: str, parts: Sequence[str], content: str | None = None) -> tuple[str, str]:
    """The first part as it stands in a pk, and a sort key of `prefix` and the others.

    `content` is a digest and goes last.
    """
    text = "/".join(parts)
    if is_plain(text, len(parts) - 1):
        return compose_plain(prefix, text, content)
    first, *rest = map(part, parts)
    return first, _sort_key(prefix, "/".join(rest), content)


def compose_plain(prefix: str, text: str, content: str | None = None) -> tuple[str, str]:
    """As `compose`, of parts that are joined already and plain."""
    first, _, rest = text.partition("/")
    return first, prefix + rest if content is None else _sort_key(prefix, rest, content)


def _sort_key(prefix: str, text: str, content: str | None) -> str:
    if content is not None:
        text = f"{text}/{_HASHED}{content}" if text else _HASHED + content
    if len(text) > _LONGEST // 4 and len((prefix + text).encode()) > SK_BYTES:
        text = _HASHED + _hash(text.encode())
    return prefix + text


def part(text: str) -> str:
    """A part of a key, escaped, or hashed where it is too long to be read anyway."""
    if is_plain(text, 0):
        return text
    escaped = "".join(map(_char, text[: _LONGEST + 1]))
    if len(text) > _LONGEST or len(escaped.encode()) > _LONGEST:
        return _HASHED + _hash(_bytes(text))
    return escaped


def _char(char: str) -> str:
    if char.isprintable() and char not in "%/~":
        return char
    return "".join(f"%{byte:02X}" for byte in _bytes(char))


def is_id(text: str) -> bool:
    """Whether a machine made it, at random: nobody is called so, nor reached by it."""
    return bool(_MACHINE_MADE(text)) and not text.isdecimal() and not text.isalpha()


def is_word(text: str) -> bool:
    """Whether it may name a system that sends: it holds no number of a phone and no address."""
    return "@" not in text and sum(map(str.isdecimal, text)) < _FEWEST_DIGITS_OF_A_NUMBER


def opaque(text: str) -> str:
    """An id as it is, and a hash of any other text: it may be about a person."""
    return text if is_id(text) else _HASHED + _hash(_bytes(text))


def digest(value: Any) -> str:
    """A short hash of canonical JSON: order of fields, spacing and nulls do not change it."""
    return _hash(_bytes(canonical(value)))


def digest_texts(texts: Sequence[str]) -> str:
    """A short hash of some texts, which cannot run into each other."""
    return _hash(_bytes("".join([f"{len(text)}:{text}" for text in texts])))


def canonical(value: Any) -> str:
    """JSON with sorted names and without spaces and nulls."""
    text = _CANONICAL.encode(value)
    return _CANONICAL.encode(without_nulls(value)) if "null" in text else text


def without_nulls(value: Any) -> Any:
    """A null says as much as a field that is not there."""
    if isinstance(value, dict):
        return {name: without_nulls(part) for name, part in value.items() if part is not None}
    return [without_nulls(part) for part in value] if isinstance(value, list) else value


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()[:32]


@lru_cache(maxsize=1024)
def partition(organization_id: str | None, subject_type: str) -> str:
    """What the pk holds before the subject."""
    return f"{part(organization_id or '-')}/{part(subject_type)}/"


def idempotency_key(pk: str, sk: str) -> str:
    """What a destination sees as the identity of the event."""
    return sha256(f"{pk}\n{sk}".encode()).hexdigest()
