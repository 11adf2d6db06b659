"""The shape of events without their content: which fields of which type a family's bodies have."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

Fields = Counter[tuple[str, str, str]]
"""Family, path of the field, type: how many events have it."""

# Participant attributes and the like are maps, whose keys are chosen by people.
_MAPS = {"attributes", "additionalProperties", "context", "customAttributes"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]{0,39}")
_NUMBER_IN_NAME = re.compile(r"\d{3}")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
_BODY = "$"  # the outermost object
_DEPTH = 6
_FEWEST_EVENTS = 3  # fewer do not show that a name is a field's
_MOST_FIELDS = 20_000


def shape_of(family: str, body: Any) -> Iterator[tuple[str, str, str]]:
    """Every path of a body once, with its type."""
    return iter({(family, path, kind) for path, kind in _walk(_BODY, body, 0)})


class Shapes:
    """Those of a capture, of so many fields: where there are more, the rarest are left out."""

    def __init__(self) -> None:
        self._fields: Fields = Counter()

    def __len__(self) -> int:
        return len(self._fields)

    def add(self, fields: Fields) -> None:
        self._fields.update(fields)
        if len(self._fields) > _MOST_FIELDS:
            kept = _without_keys(self._fields).most_common(_MOST_FIELDS // 2)
            self._fields = Counter(dict(kept))

    def written(self) -> dict[str, dict[str, dict[str, int]]]:
        """By family and path, in an order that does not tell who came first."""
        found: dict[str, dict[str, dict[str, int]]] = {}
        for (family, whole, kind), count in sorted(_without_keys(self._fields).items()):
            path = whole.removeprefix(f"{_BODY}.")
            if path == _BODY:
                continue
            found.setdefault(family, {}).setdefault(path, {})[kind] = count
        return found


def _without_keys(fields: Fields) -> Fields:
    """Names within an object that vary between events are the keys of a map, and may be anybody's:
    only those stay that most of the objects have.
    """
    for depth in range(1, _DEPTH + 1):
        fields = _without_keys_at(depth, fields)
    return fields


def _without_keys_at(depth: int, fields: Fields) -> Fields:
    having: Counter[tuple[str, str]] = Counter()
    for (family, path, _), count in fields.items():
        having[family, path] += count
    shown: Fields = Counter()
    for (family, path, kind), count in fields.items():
        parts = path.split(".")
        if len(parts) > depth:
            inside, name = ".".join(parts[:depth]), parts[depth].rstrip("[]")
            has = having[family, f"{inside}.{name}"]
            if has < _FEWEST_EVENTS or 2 * has < fields[family, inside, "object"]:
                parts[depth] = "*" + parts[depth][len(name) :]
        shown[family, ".".join(parts), kind] += count
    return shown


def _walk(path: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        yield path, "object"
        for name, inner in value.items() if depth < _DEPTH else ():
            is_map = path.rpartition(".")[2] in _MAPS
            fits = _NAME.fullmatch(name) and not _NUMBER_IN_NAME.search(name)
            shown = name if fits and not is_map else "*"
            yield from _walk(f"{path}.{shown}", inner, depth + 1)
    elif isinstance(value, list):
        yield path, "array"
        for inner in value:
            yield from _walk(f"{path}[]", inner, depth + 1)
    else:
        yield path, _kind(value)


def _kind(value: Any) -> str:
    if isinstance(value, str):
        if _UUID.fullmatch(value):
            return "uuid"
        return "time" if _TIME.match(value) else "text"
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    return "integer" if isinstance(value, int) else "number"
