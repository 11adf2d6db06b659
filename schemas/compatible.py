"""Compares a contract with its published form: may those who built on that one stay as they are?"""

from collections.abc import Iterator
from typing import Any, Literal

Schema = dict[str, Any]

# Lists of words that may grow, by the field that holds one: its description says so.
_GROWING = {"reason"}
_LIMITS = (
    "pattern",
    "exclusiveMinimum",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
)
_ANY = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})


def breaks(published: Schema, now: Schema, direction: Literal["out", "in"]) -> Iterator[str]:
    """What would break readers (`out`) or writers (`in`), each with the path of the field."""
    return _compare(published, now, published, now, direction, "")


def _compare(
    old: Schema, new: Schema, old_root: Schema, new_root: Schema, direction: str, path: str
) -> Iterator[str]:
    old, new = _resolve(old, old_root), _resolve(new, new_root)
    where = path or "(top)"
    given, taken = (new, old) if direction == "out" else (old, new)
    if not _types(given, new_root if direction == "out" else old_root) <= _types(
        taken, old_root if direction == "out" else new_root
    ):
        yield f"{where}: retyped from {_named(old, old_root)} to {_named(new, new_root)}"
        return
    if path.rpartition(".")[2] not in _GROWING or direction == "in":
        yield from _words(given, taken, where)
    for limit in _LIMITS:
        if limit in taken and taken[limit] != given.get(limit):
            yield f"{where}: {limit} is {new.get(limit)}, was {old.get(limit)}"
    was_there, is_there = set(old.get("required", [])), set(new.get("required", []))
    if direction == "in":
        for field in sorted(is_there - was_there):
            yield f"{_under(path, field)}: newly required"
    before, after = old.get("properties", {}), new.get("properties", {})
    for field, part in before.items():
        inner = _under(path, field)
        if field not in after:
            if direction == "out":
                yield f"{inner}: removed"
            continue
        if direction == "out" and field in was_there - is_there:
            yield f"{inner}: no longer always there"
        yield from _compare(part, after[field], old_root, new_root, direction, inner)
    for keyword in ("items", "additionalProperties"):
        if isinstance(old.get(keyword), dict) and isinstance(new.get(keyword), dict):
            inner = f"{path}[]"
            yield from _compare(old[keyword], new[keyword], old_root, new_root, direction, inner)


def _under(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field


def _resolve(schema: Schema, root: Schema) -> Schema:
    """The schema that a reference points at; of a choice, what is more than null."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    choices = [part for part in schema.get("anyOf", []) if part != {"type": "null"}]
    return _resolve(choices[0], root) if len(choices) == 1 else schema


def _types(schema: Schema, root: Schema) -> frozenset[str]:
    if "$ref" in schema:
        return _types(_resolve(schema, root), root)
    if "anyOf" in schema:
        return frozenset().union(*(_types(part, root) for part in schema["anyOf"]))
    kinds = schema.get("type", _ANY)
    found = frozenset([kinds] if isinstance(kinds, str) else kinds)
    return found | {"integer"} if "number" in found else found


def _named(schema: Schema, root: Schema) -> str:
    kinds = _types(schema, root)
    return "anything" if kinds >= _ANY else " or ".join(sorted(kinds))


def _words(given: Schema, taken: Schema, where: str) -> Iterator[str]:
    allowed, said = (
        set(part["enum"]) if "enum" in part else {part["const"]} if "const" in part else None
        for part in (taken, given)
    )
    if allowed is not None and (said is None or not said <= allowed):
        more = "any word" if said is None else ", ".join(map(str, sorted(said - allowed)))
        yield f"{where}: {more} is not among the published {', '.join(map(str, sorted(allowed)))}"
