"""The body of an event, cut from the message as it came: no digit of a number is rounded."""

import json
import re
from collections.abc import Mapping
from typing import Any

from .errors import NotConfigured

_DECODER = json.JSONDecoder()
_SPACE = re.compile(r"[ \t\r\n]*")


def body_text(event: Mapping[str, Any]) -> str:
    """Returns the JSON text of the body, at `bodyPath` in `raw`. A text on the way holds JSON."""
    try:
        text = _unwrap(event["raw"])
        for key in event["bodyPath"]:
            text = _unwrap(_member(text, key))
    except (KeyError, TypeError, ValueError, IndexError, RecursionError):
        raise NotConfigured(
            "bodyPath names no body in this event; "
            "deploy the enrichment and this function from the same release"
        ) from None
    # Genesys sends some events without a body, such as that of a station that a user leaves.
    return "{}" if text == "null" else text


def _unwrap(text: str) -> str:
    text = text.strip(" \t\r\n")
    return str(json.loads(text)).strip(" \t\r\n") if text.startswith('"') else text


def _member(text: str, key: str) -> str:
    """Returns the text of an object's member; of the last one, if several have this name."""
    if text[0] != "{":
        raise KeyError(key)
    member = None
    position = _skip(text, 1)
    while text[position] != "}":
        name, position = _DECODER.raw_decode(text, position)
        begin = _skip(text, _skip(text, position) + 1)  # behind the colon
        _, end = _DECODER.raw_decode(text, begin)
        if name == key:
            member = text[begin:end]
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    if member is None:
        raise KeyError(key)
    return member


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position
