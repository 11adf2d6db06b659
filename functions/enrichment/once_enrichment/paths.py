"""Follows paths through a body, as ignored.toml and the `facts` of a route name them.

`*` stands for each item of a list or each field of an object, `**` for any number of fields, or
none.
"""

import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from once_enrichment.topics import covers

Way = tuple[str, ...]

# Beside the package, where it is deployed from; a wheel carries it inside.
_FILES = [folder / "ignored.toml" for folder in Path(__file__).resolve().parents[:2]]
IGNORED: dict[str, list[str]] = tomllib.loads(
    next(path.read_text("utf-8") for path in _FILES if path.exists())
)
"""The fields that may change without a change that matters, by family."""

ABSENT = object()
"""Returned by `only` if no path leads to anything."""


def ways(paths: Iterable[str]) -> list[Way]:
    """Splits paths into their steps."""
    return [tuple(path.split(".")) for path in paths]


def without_ignored(family: str, body: Any) -> Any:
    """Returns a body without what its family ignores."""
    left_out = [path for name in IGNORED if covers(name, family) for path in IGNORED[name]]
    return without(body, ways(left_out))


def without(value: Any, left_out: Sequence[Way]) -> Any:
    """Returns the value without the fields and items at these paths."""
    if isinstance(value, list):
        below = _below(left_out, None)
        return [] if () in below else [without(item, below) for item in value]
    if not isinstance(value, dict) or not left_out:
        return value
    kept = {}
    for name, inner in value.items():
        below = _below(left_out, name)
        if () not in below:
            kept[name] = without(inner, below) if isinstance(inner, dict | list) else inner
    return kept


def only(value: Any, counted: Sequence[Way]) -> Any:
    """Returns what is at these paths. An item of a list is told by its `id`, if it has one."""
    if () in counted:
        return value
    if not counted:
        return ABSENT
    if isinstance(value, list):
        below = _below(counted, None)
        items = [(item, only(item, below)) for item in value]
        kept = [_told(item, part) for item, part in items if part is not ABSENT]
        return kept or ABSENT
    if not isinstance(value, dict):
        return ABSENT
    parts = {name: only(inner, _below(counted, name)) for name, inner in value.items()}
    return {name: part for name, part in parts.items() if part is not ABSENT} or ABSENT


def _told(item: Any, part: Any) -> Any:
    """Keeps the states of two items apart: "A held, B talking" is not "A talking, B held"."""
    has_id = isinstance(item, dict) and item.get("id") is not None
    return {"id": item["id"], "counts": part} if has_id else part


def _below(those: Sequence[Way], name: str | None) -> list[Way]:
    """Returns the rest of each way below a field, or below the items of a list."""
    rest = []
    for way in those:
        if way and way[0] == "**":
            rest.append(way)
            way = way[1:]
        if way and way[0] in ("*", name):
            rest.append(way[1:])
    return rest
