"""Declares what tells the events of a family apart: one row each, in families.py."""

from dataclasses import dataclass
from typing import Any, Literal

Order = Literal["none", "latest", "changes"]


@dataclass(frozen=True, kw_only=True)
class Family:
    """Paths are separated by spaces. A path through a list reads each of its items."""

    topics: tuple[str, ...]
    why: str
    subject: str = ""
    """The kind of subject and the path of its id; if empty, the first id in the topic's name."""
    slots: tuple[str, ...] = ()
    """Names of the ids in a topic's name, if the words before them do not tell."""
    each: str = ""
    """Text that each event has and that varies independently: the newest event is kept for each
    of its values."""
    selection: str = ""
    """Varies independently as well, and may be absent or of any type."""
    ids: str = ""
    """Part of the identity: text that each event has."""
    time: str = ""
    """The time of the event; it changes with every change."""
    state: str = ""
    """Another value, or none, is another event."""
    order: Order = "none"
    """`latest`: an event older than the latest settled event is stale. `changes`: the same, and a
    state is acted on if it differs from the latest; the key holds the whole body."""
    whole: bool = False
    """Every field of the body counts."""
    shown: str = ""
    """The field that an element shows as its state; `topic`: what the topic names."""

    @property
    def is_whole(self) -> bool:
        """True if the whole body is in the key."""
        return self.whole or self.order == "changes"


def read(value: Any, path: str) -> Any:
    """Returns the value at a path; of a list, a list of values."""
    name, _, below = path.partition(".")
    if isinstance(value, list):
        return [read(item, path) for item in value]
    inner = value.get(name) if isinstance(value, dict) else None
    return read(inner, below) if below else inner


def is_text(value: Any) -> bool:
    """Returns true for text that may be an id."""
    return isinstance(value, str) and value != ""
