"""Leaves out the fields that ignored.toml lists: they may change without a change that matters."""

import tomllib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

Way = tuple[str, ...]

# Beside the package, where it is deployed from; a wheel carries it inside.
_FILES = [folder / "ignored.toml" for folder in Path(__file__).resolve().parents[:2]]
IGNORED: dict[str, list[str]] = tomllib.loads(
    next(path.read_text("utf-8") for path in _FILES if path.exists())
)


@lru_cache(maxsize=1024)
def paths_of(family: str) -> tuple[str, ...]:
    """Returns the paths that a family ignores."""
    patterns = [p for p in IGNORED if p == family or (p[-1:] == "*" and family.startswith(p[:-1]))]
    return tuple(path for pattern in patterns for path in IGNORED[pattern])


def without(family: str, body: Any) -> Any:
    """Returns the body without what its family ignores."""
    ways = [tuple(path.split(".")) for path in paths_of(family)]
    return _without(body, ways) if ways else body


def _without(value: Any, ways: Sequence[Way]) -> Any:
    if isinstance(value, list):
        below = [*_below(ways, None)]
        return [] if () in below else [_without(one, below) for one in value] if below else value
    if not isinstance(value, dict):
        return value
    kept = {}
    for name, inner in value.items():
        below = [*_below(ways, name)]
        if () not in below:
            kept[name] = _without(inner, below) if below else inner
    return kept


def _below(ways: Sequence[Way], name: str | None) -> Iterator[Way]:
    """Yields what is left of each way below a field, or below the elements of a list."""
    for way in ways:
        if way[0] == "**":
            yield way
            way = way[1:]
        if way and way[0] in ("*", name):
            yield way[1:]
