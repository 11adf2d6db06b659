"""Finds what a valid file of routes wants and no event known here can have."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

from once_enrichment.families import FAMILIES
from once_enrichment.family import Family
from once_enrichment.identity import is_id_name
from once_enrichment.patterns import Field
from once_enrichment.routes import IGNORE, Route
from once_enrichment.routes_file import Path
from once_enrichment.topics import family_name, slot_names

from once.routes import fields
from once.routes.fields import Node

_SEND = "send"
_ID_OF_ACTION = "_-_"  # in each, as custom_-_0a1b2c3d or static_-_4e5f6a7b
_OF_TEXTS = ("prefix", "suffix", "equals-ignore-case", "wildcard")


@dataclass(frozen=True)
class Note:
    """A place in the file that is valid and perhaps not what was meant."""

    path: Path
    text: str


def find_notes(routes: list[Route]) -> Iterator[Note]:
    families = sorted({*(name for name, _ in _declared()), *fields.shapes()})
    ids = [f"ids.{name}" for name in _known_ids()]
    for at, route in enumerate(routes):
        path = ("routes", at)
        if not any(map(route.is_for, families)):
            meant = _meant(route.family, families)
            text = f'no topic known here has the family "{route.family}"{meant}'
            yield Note((*path, "family"), f"{text}; only a topic of your own may")
        for field in route.when.named() if route.when else ():
            for text in (*_doubt(route, field, ids), *_doubt_identity(route, field)):
                yield Note((*path, "when", *field.path), text)
        if route.action not in (_SEND, IGNORE) and _ID_OF_ACTION not in route.action:
            meant = _meant(route.action, (_SEND, IGNORE))
            text = f'no Genesys data action has the id "{route.action}"{meant}'
            yield Note((*path, "action"), f'{text}; they look like "custom_-_0a1b2c3d-…"')
        if route.inputs is not None and route.action in (_SEND, IGNORE):
            text = f'the action "{route.action}" has no inputs: only a data action has'
            yield Note((*path, "inputs"), text)
        elif route.inputs is not None:
            yield from _doubt_inputs(route.inputs, (*path, "inputs"), ids)


def _known_ids() -> list[str]:
    found: set[str] = set()
    for family in FAMILIES:
        found |= {name for name in family.model_fields if is_id_name(name)}
        found |= {*family.slots, *(f"{subject}Id" for subject in [family.subject] if subject)}
        found |= {name for topic in family.topics for name in slot_names(topic)}
    return sorted(found)


def _doubt(route: Route, field: Field, ids: list[str]) -> Iterator[str]:
    place = ".".join(field.path)
    if field.path[0] == "ids" and place not in ids:
        yield f'no event known here has "{place}"{_meant(place, ids)}'
    if field.path[0] != "body":
        return
    shapes = [shape for family, shape in fields.shapes().items() if route.is_for(family)]
    nodes = [fields.at(shape, field.path[1:]) for shape in shapes]
    known = [node for node in nodes if node is not None]
    if shapes and not known:
        names = {name for shape in shapes for name in fields.names(shape, field.path[1:])}
        meant = _meant(field.path[-1], names)
        effect = "this may always hold" if field.may_be_absent else "the route may match nothing"
        yield f'Genesys lists no "{place}" in {route.family}{meant}; {effect}'
    for wanted in field.wanted:
        if known and not any(_can_hold(wanted, node) for node in known):
            yield f"{place} is never {_shown(wanted)}: it is {_kind(wanted, known)}"


def _doubt_identity(route: Route, field: Field) -> Iterator[str]:
    """Doubts what the family alone decides: its name, its subject and its state."""
    nodes = [_identity(name, of, field.path) for name, of in _declared() if route.is_for(name)]
    if any(not isinstance(node, list) for node in nodes):
        return
    possible = sorted({value for node in nodes for value in node})
    for wanted in field.wanted if possible else ():
        if not _can_hold(wanted, possible):
            place = ".".join(field.path)
            yield f"{place} is never {_shown(wanted)}: it is {_kind(wanted, [possible])}"


def _identity(name: str, family: type[Family], path: tuple[str, ...]) -> Node:
    match path:
        case ("family",):
            return [name]
        case ("subject", "type"):
            first_ids = {slot_names(one)[:1] for one in family.topics if family_name(one) == name}
            kinds = {one.removesuffix("Id") for ids in first_ids for one in ids}
            return [family.subject] if family.subject else sorted(kinds)
        case ("state",) if family.topic_is_state:
            return [name.partition(".")[2]]
        case ("state",) if family.shown and name in fields.shapes():
            return fields.at(fields.shapes()[name], tuple(family.shown.split("."))) or fields.ANY
    return fields.ANY


def _doubt_inputs(inputs: Mapping[str, str], path: Path, ids: list[str]) -> Iterator[Note]:
    if "idempotencyKey" not in inputs.values():
        yield Note(
            path, 'no input takes "idempotencyKey": the endpoint could not tell a repeated request'
        )
    for name, source in inputs.items():
        if source.startswith("ids.") and source not in ids:
            text = f'no event known here has "{source}"{_meant(source, ids)}'
            yield Note((*path, name), f"{text}; an input without a value is left out")


@cache
def _declared() -> list[tuple[str, type[Family]]]:
    return [(family_name(topic), family) for family in FAMILIES for topic in family.topics]


def _can_hold(wanted: Any, node: Node) -> bool:
    if node == fields.ANY or wanted == {"exists": False}:
        return True
    if isinstance(node, dict):
        return False
    if isinstance(wanted, dict):
        [operator] = wanted
        if operator == "numeric":
            return node == "number"
        return operator not in _OF_TEXTS or node == "text" or isinstance(node, list)
    if isinstance(node, list):
        return wanted in node
    if isinstance(wanted, bool):
        return node == "boolean"
    return node == ("text" if isinstance(wanted, str) else "number")


def _kind(wanted: Any, nodes: list[Node]) -> str:
    for node in nodes:
        if isinstance(node, list):
            meant = _meant(wanted, node) if isinstance(wanted, str) else ""
            one_of = "one of " if len(node) > 1 else ""
            return f"{one_of}{', '.join(node)}{meant}"
        if isinstance(node, dict):
            return "an object, of which a field must be named"
    return f"a {nodes[0]}"


def _shown(wanted: Any) -> str:
    return f"{wanted!r}" if not isinstance(wanted, dict) else " ".join(wanted)


def _meant(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, known, 1)
    return f' (did you mean "{close[0]}"?)' if close else ""
