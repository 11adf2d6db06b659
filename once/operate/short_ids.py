"""Completes an id of which only the beginning is given, as commands print it."""

import re
from collections.abc import Collection

from once.errors import NotFoundError

_SHORT = re.compile(r"[0-9a-f]{8}[0-9a-f-]*")
_NAMED = 5


def is_short(text: str) -> bool:
    """Returns true for what may be the beginning of an id."""
    return _SHORT.fullmatch(text) is not None


def complete(text: str, known: Collection[str]) -> str | None:
    """Finds the known id that begins with this; None if there is none, or the text is no id."""
    if not is_short(text):
        return None
    found = [text] if text in known else sorted(one for one in known if one.startswith(text))
    if len(found) > 1:
        raise NotFoundError(f"{len(found)} ids begin with {text}: {', '.join(found[:_NAMED])}")
    return found[0] if found else None
