"""Finds what is wrong or doubtful in a file of routes, with its line.

An error keeps a file from being deployed: the enrichment would raise, or a route could never work.
A doubt is about a route that is valid, and that no event known here fits. What the enrichment
refuses is told by it; lines, routes that hide others, and doubts are told here alone.
"""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from typing import Any

from once_enrichment.families import slot_names
from once_enrichment.identity import is_id_name
from once_enrichment.patterns import Field
from once_enrichment.routes import IGNORE, Path, Route, faults, route_of

from once.model.records import declared, windowed
from once.routes import fields
from once.routes.fields import Node

_SEND = "send"
_ID_OF_ACTION = "_-_"  # in each, as custom_-_0a1b2c3d or static_-_4e5f6a7b
_HEADER = re.compile(r"\[{1,2}\s*routes?\s*\]{0,2}")
_AT_LINE = re.compile(r" \(at line (\d+), column \d+\)")
Said = Iterator[tuple[Path, str]]


@dataclass(frozen=True, order=True)
class Finding:
    """A line of the file that is wrong or doubtful."""

    line: int
    text: str
    is_error: bool = True


def check(text: str) -> list[Finding]:
    """Returns every finding; doubts only if nothing is wrong."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return [_find_wrong_header(text) or _explain_syntax(text, error)]
    errors = [*faults(document)]
    if errors and errors[0][0] == ("routes",) and (header := _find_wrong_header(text)):
        return [header]
    if not errors:
        routes = [route_of(table) for table in document["routes"]]
        errors = [*_find_errors(routes)]
        if not errors:
            return sorted(Finding(find_line(text, path), s, False) for path, s in _doubt(routes))
    return sorted(Finding(find_line(text, path), sentence) for path, sentence in errors)


def find_line(text: str, path: Path) -> int:
    """Returns the first line up to which the text, read as TOML, has something at this path."""
    lines = text.split("\n")
    for number in range(1, len(lines) + 1):
        try:
            node: Any = tomllib.loads("\n".join(lines[:number]))
            for step in path:
                node = node[step]
        except (tomllib.TOMLDecodeError, LookupError, TypeError):
            continue
        return number
    return find_line(text, path[:-1]) if path else 1


def _find_wrong_header(text: str) -> Finding | None:
    """Finds a line that was meant to begin a route."""
    for number, line in enumerate(text.split("\n"), 1):
        header = _HEADER.match(line.lstrip())
        if header and header[0].strip() != "[[routes]]":
            return Finding(number, f"{header[0].strip()} begins no route: write [[routes]]")
    return None


def _explain_syntax(text: str, error: tomllib.TOMLDecodeError) -> Finding:
    if text.startswith("\ufeff"):
        return Finding(1, "a byte order mark: save the file as UTF-8 without one")
    lines = text.split("\n")
    place = _AT_LINE.search(str(error))
    number = int(place[1]) if place else len(lines)
    return Finding(number, f"not TOML: {_AT_LINE.sub('', str(error))}: {lines[number - 1][:60]}")


def _find_errors(routes: Sequence[Route]) -> Said:
    """Finds routes that no event reaches, names given twice, and `every` where copies differ."""
    for number, route in enumerate(routes):
        path = ("routes", number)
        for earlier in routes[:number]:
            if earlier.is_for(route.family) and _takes_all(earlier, route):
                yield path, f'no event reaches this route: "{earlier.name}" takes all of them'
                break
        else:
            if route.name in [earlier.name for earlier in routes[:number]]:
                yield path, f'another route is named "{route.name}": give this one its own name'
        if route.order and route.family in windowed():
            yield (
                (*path, "order"),
                f"{route.family} is windowed: the times of its copies differ, so each copy would "
                "be acted on. Leave the line out",
            )


def _takes_all(earlier: Route, route: Route) -> bool:
    """Returns true if the condition of one route holds wherever that of a later one does, as far
    as that can be seen."""
    if earlier.when is None or earlier.when == route.when:
        return True
    if route.when is None:
        return False
    wanted = {field.path: field.wanted for field in route.when.named() if not field.may_be_absent}
    return all(
        not field.may_be_absent
        and field.path in wanted
        and all(value in field.wanted for value in wanted[field.path])
        for field in earlier.when.named()
    )


def _doubt(routes: Sequence[Route]) -> Said:
    families = sorted({*(name for name, _ in declared()), *fields.shapes()})
    ids = [f"ids.{name}" for name in _known_ids()]
    for number, route in enumerate(routes):
        path = ("routes", number)
        if not any(map(route.is_for, families)):
            meant = _suggest(route.family, families)
            text = f'no topic known here has the family "{route.family}"{meant}'
            yield (*path, "family"), f"{text}; only a topic of your own may"
        for field in route.when.named() if route.when else ():
            for text in _doubt_field(route, field, ids):
                yield (*path, "when", *field.path), text
        if route.action not in (_SEND, IGNORE) and _ID_OF_ACTION not in route.action:
            meant = _suggest(route.action, (_SEND, IGNORE))
            text = f'no Genesys data action has the id "{route.action}"{meant}'
            yield (*path, "action"), f'{text}; they look like "custom_-_0a1b2c3d-…"'
        if route.inputs is not None and route.action in (_SEND, IGNORE):
            text = f'the action "{route.action}" has no inputs: only a data action has'
            yield (*path, "inputs"), text
        elif route.inputs is not None:
            yield from _doubt_inputs(route.inputs, (*path, "inputs"), ids)
        yield from _doubt_facts(route, path)


def _doubt_facts(route: Route, path: Path) -> Said:
    """Doubts facts and order of families that have no use for them, and paths without a field."""
    orders = {name: family for name, family in declared() if route.is_for(name)}
    has_order = not orders or any(family.order != "none" for family in orders.values())
    for name, is_given in (("facts", route.facts), ("order", route.order)):
        if is_given and not has_order:
            what = "each event of it is acted on anyway"
            yield (*path, name), f"{name} changes nothing: {route.family} has no order, {what}"
    if route.order and (differing := [name for name in orders if name in windowed()]):
        which = ", ".join(differing[:3])
        yield (*path, "order"), f"each copy of {which} is acted on: their copies differ in time"
    shapes = [shape for family, shape in fields.shapes().items() if route.is_for(family)]
    for number, fact in enumerate(route.facts):
        steps = fact.split(".")
        if shapes and steps[0] != "metadata":
            if any(fields.reaches(shape, steps) for shape in shapes):
                continue
            known = {name for shape in shapes for name in _names_in(shape)}
            unknown = next((s for s in reversed(steps) if s not in known and s[0] != "*"), fact)
            text = f'Genesys lists no "{fact}" in {route.family}{_suggest(unknown, known)}'
            yield (*path, "facts", number), f"{text}; without any fact the whole body counts"


def _names_in(node: Node) -> Iterator[str]:
    if isinstance(node, dict):
        for name, inner in node.items():
            yield name
            yield from _names_in(inner)


def _doubt_field(route: Route, field: Field, ids: Sequence[str]) -> Iterator[str]:
    place = ".".join(field.path)
    if field.path[0] == "ids" and place not in ids:
        yield f'no event known here has "{place}"{_suggest(place, ids)}'
    if field.path[0] != "body":
        return
    shapes = [shape for family, shape in fields.shapes().items() if route.is_for(family)]
    nodes = [fields.find_field(shape, field.path[1:]) for shape in shapes]
    known = [node for node in nodes if node is not None]
    if shapes and not known:
        names = {name for shape in shapes for name in fields.names(shape, field.path[1:])}
        meant = _suggest(field.path[-1], names)
        effect = "this may always hold" if field.may_be_absent else "the route may match nothing"
        yield f'Genesys lists no "{place}" in {route.family}{meant}; {effect}'
    yield from _doubt_values(place, field, known)


def _doubt_values(place: str, field: Field, known: Sequence[Node]) -> Iterator[str]:
    """Doubts values of a field for which Genesys lists all values."""
    values = {value for node in known if isinstance(node, list) for value in node}
    if known and all(isinstance(node, list) for node in known):
        for wanted in field.wanted:
            if isinstance(wanted, str) and wanted not in values:
                meant = _suggest(wanted, values) or f", but one of {', '.join(sorted(values))}"
                yield f'{place} is never "{wanted}"{meant}'


def _doubt_inputs(inputs: Mapping[str, str], path: Path, ids: Sequence[str]) -> Said:
    if "idempotencyKey" not in inputs.values():
        yield (
            path,
            'no input takes "idempotencyKey": the endpoint could not tell a repeated request',
        )
    for name, source in inputs.items():
        if source.startswith("ids.") and source not in ids:
            text = f'no event known here has "{source}"{_suggest(source, ids)}'
            yield (*path, name), f"{text}; an input without a value is left out"


@cache
def _known_ids() -> list[str]:
    known: set[str] = set()
    for name, family in declared():
        known |= {field for field in fields.shapes().get(name, {}) if is_id_name(field)}
        subject = family.subject.split()[:1]
        known |= {*family.slots, *(f"{kind}Id" for kind in subject)}
        known |= {slot for topic in family.topics for slot in slot_names(topic)}
    return sorted(known)


def _suggest(name: str, known: Collection[str]) -> str:
    close = get_close_matches(name, known, 1)
    return f' (did you mean "{close[0]}"?)' if close else ""
