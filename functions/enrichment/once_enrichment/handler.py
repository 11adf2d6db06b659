"""Lambda entry of the enrichment."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from once_enrichment.message import Element
from once_enrichment.normalise import normalise
from once_enrichment.routes import Routes
from once_enrichment.routes_file import InvalidRoutesError, read

_FOLDER = Path(__file__).resolve().parents[1]
LARGEST_BYTES = 248 * 1024
"""Step Functions takes 256 KiB into a state; what the state machine adds needs the rest."""


class TooLargeError(Exception):
    """The element does not fit into the state machine; the message stays in the queue."""


def handler(event: list[Any], _context: object) -> list[Element]:
    """Returns the element of the one message that the pipe sends; raises if it cannot be used."""
    (record,) = event
    element = normalise(record, _routes())
    size = size_of(element)
    if size > LARGEST_BYTES:
        raise TooLargeError(
            f"The event of message {element['firstMessageId']} needs {size:,} bytes; "
            f"the state machine takes {LARGEST_BYTES:,}: its publisher must send less text."
        )
    return [element]


def size_of(element: Element) -> int:
    """Returns the bytes of the larger: the element, or its message when it is put back or parked.

    The body of that message is JSON text in JSON text, in which a quotation mark takes four bytes.
    """
    body = json.dumps(element["raw"], ensure_ascii=False)
    return max(len(json.dumps(one, ensure_ascii=False).encode()) for one in (element, body))


@cache
def _routes() -> Routes:
    name = os.environ.get("ROUTES_FILE", "routes.toml")
    try:
        text = (_FOLDER / name).read_text("utf-8")
    except (OSError, ValueError):
        raise InvalidRoutesError(
            f"RoutesFile names {name}, and the function has no such file; "
            "put it in functions/enrichment and deploy"
        ) from None
    return read(name, text)
