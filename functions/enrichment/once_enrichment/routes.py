"""Decides what becomes of an event, by the first route of the operator's file that matches it, and
reads that file. `routes.toml` says how a route is written.

`once routes check` tells the line of each fault before a deployment. After one, the function raises
for every event until the file is corrected, so the messages wait.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

from once_enrichment import patterns
from once_enrichment.families import covers
from once_enrichment.keys import ascii_only, is_plain
from once_enrichment.patterns import Field, Pattern, PatternError

IGNORE = "none"
_LONGEST_DETAIL = 300

MATCHED = ("family", "state", "subject", "ids", "body", "metadata")
"""The fields of an event that `when` may name."""

Path = tuple[str | int, ...]
Fault = tuple[Path, str]
"""Names the place in the document, and what is wrong there."""

_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_SOURCES = (
    *("idempotencyKey", "family", "topic", "organizationId", "state"),
    *("occurredAt", "occurredAtMs", "publishedAt"),
    *("subject.type", "subject.id", "key.pk", "key.sk", "body"),
)
"""The sources of an input; any other is a path into one of the next line's objects."""
_SOURCES_OF_PATHS = ("ids", "trace", "body", "metadata")
_SOURCE_PATH = re.compile(rf"({'|'.join(_SOURCES_OF_PATHS)})(\.[^.]+)+")
_STEPS = re.compile(r"[^.]+(\.[^.]+)*")

_FORMS = {
    "name": re.compile(r"[ -~]{1,60}"),
    "family": re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(\.\*)?|\*"),
    "max_age": re.compile(r"[1-9][0-9]{0,5}[smhd]"),
    "action": re.compile(r"[A-Za-z0-9_-]{1,128}"),
    "order": re.compile("every"),
}
_WANTED = {
    "name": "name is a text of up to 60 plain characters",
    "family": 'family is a name such as "user.presence", a beginning such as "user.*", or "*"',
    "when": "",  # patterns.py tells its faults
    "max_age": 'max_age is a number with s, m, h or d, such as "90s" or "5m"',
    "action": 'action is the id of a data action, "send" for any other target, or "none"',
    "inputs": 'inputs are a table of lines such as conversation = "ids.conversationId"',
    "facts": 'facts are a list of paths such as "participants.*.calls.*.state"',
    "order": 'order is "every", or the line is left out',
}


class IgnoredReason(StrEnum):
    """Why no request is sent for an event."""

    NO_ROUTE_MATCHED = "NO_ROUTE_MATCHED"
    ROUTE_IS_NONE = "ROUTE_IS_NONE"


@dataclass(frozen=True, kw_only=True)
class Route:
    """One `[[routes]]` of the file."""

    name: str
    family: str
    """A name, a beginning that ends in ".*", or "*"."""
    action: str
    when: Pattern | None = None
    max_age_ms: int | None = None
    inputs: Mapping[str, str] | None = None
    facts: Sequence[str] = ()
    """Paths of the fields that count, for families with an order; empty: the whole body."""
    order: Literal["every"] | None = None
    """`every`: an event is acted on even if a newer event has passed it."""

    def is_for(self, family: str) -> bool:
        return covers(self.family, family)


@dataclass(frozen=True)
class Routes:
    """The routes of a file, in its order."""

    routes: tuple[Route, ...]

    def take(self, event: Mapping[str, Any]) -> Route:
        """Returns the first route that matches; the last route of a file matches every event.

        The event has the fields of an element and its `body`.
        """
        return next(
            route
            for route in self.routes_for(event["family"])
            if route.when is None or route.when.matches(event)
        )

    def routes_for(self, family: str) -> Iterator[Route]:
        return (route for route in self.routes if route.is_for(family))

    def describe(self, route: Route, event: Mapping[str, Any]) -> dict[str, Any]:
        """Returns what an element says of the route that it took."""
        taken: dict[str, Any] = {"name": route.name, "action": route.action}
        if route.inputs is not None:
            taken["inputs"] = dict(route.inputs)
        if route.action == IGNORE and route is self.routes[-1]:
            taken["ignored"] = IgnoredReason.NO_ROUTE_MATCHED.value
            taken["detail"] = self._missed(event)
        elif route.action == IGNORE:
            taken["ignored"] = IgnoredReason.ROUTE_IS_NONE.value
        return taken

    def _missed(self, event: Mapping[str, Any]) -> str:
        """Describes what the first route for the event's family wanted."""
        first = next(self.routes_for(event["family"]))
        field = first.when and first.when.unmet(event, event)
        if not field:
            return f"no route is for the family {event['family']}"
        detail = f'route "{first.name}" wants {_wanted(field, event)}'
        return ascii_only(detail)[:_LONGEST_DETAIL]


def _wanted(field: Field, event: Mapping[str, Any]) -> str:
    """Describes what a route wants of a field, and what the event has if that is not private."""
    wants = " or ".join(map(_shown, field.wanted))
    value = next(patterns.leaves(event, field.path), None)
    has = "is another"
    if value is None:
        has = "has none"
    elif isinstance(value, str) and is_plain(value):
        has = f"is {value}"
    return f"{'.'.join(field.path)} {wants}, this {has}"


def _shown(wanted: Any) -> str:
    if isinstance(wanted, dict):
        [(operator, argument)] = wanted.items()
        return f"{operator} {json.dumps(argument)}"
    return wanted if isinstance(wanted, str) and wanted.isascii() else json.dumps(wanted)


class InvalidRoutesError(Exception):
    """The file cannot be used; the text names it and its first fault."""


def parse_routes(name: str, text: str) -> Routes:
    """Returns the routes of a file, or raises InvalidRoutesError."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidRoutesError(f"{name} is not TOML: {error}; run once routes check") from None
    for path, sentence in faults(document):
        where = ".".join(str(step + 1 if isinstance(step, int) else step) for step in path)
        raise InvalidRoutesError(f"{name}, {where}: {sentence}; run once routes check")
    return Routes(tuple(map(route_of, document["routes"])))


def faults(document: dict[str, Any]) -> Iterator[Fault]:
    """Yields every fault of a file that is TOML."""
    tables = document.get("routes")
    if not isinstance(tables, list) or not tables:
        yield ("routes",), 'no [[routes]]: add one for family = "*"'
        return
    for key in document.keys() - {"routes"}:
        yield (key,), f'"{key}" is not known here'
    is_faulty = False
    for number, table in enumerate(tables):
        for path, sentence in _faults_of(table):
            is_faulty = True
            yield ("routes", number, *path), sentence
    if not is_faulty and (tables[-1]["family"] != "*" or "when" in tables[-1]):
        wants = 'the last route wants family = "*" and no "when": each event must have a route'
        yield ("routes", len(tables) - 1), wants


def route_of(table: dict[str, Any]) -> Route:
    """Returns the route of a table that has no fault."""
    age = table.get("max_age")
    return Route(
        name=table.get("name", table["family"]),
        family=table["family"],
        when=patterns.read(table["when"]) if "when" in table else None,
        max_age_ms=int(age[:-1]) * _UNIT_MS[age[-1]] if age else None,
        action=table["action"],
        inputs=table.get("inputs"),
        facts=tuple(table.get("facts", ())),
        order=table.get("order"),
    )


def _faults_of(table: Any) -> Iterator[Fault]:
    given = table if isinstance(table, dict) else {}
    for key in given.keys() - set(_WANTED):
        yield (key,), f'"{key}" is not known here; a route has {", ".join(_WANTED)}'
    for key, form in _FORMS.items():
        value = given.get(key)
        is_missing = key not in given and key in ("family", "action")
        if is_missing or (key in given and not (type(value) is str and form.fullmatch(value))):
            yield (key,), _WANTED[key]
    if "when" in given:
        yield from _faults_of_when(given["when"])
    if "inputs" in given:
        yield from _faults_of_inputs(given["inputs"])
    paths = given.get("facts", ["*"])
    is_list = isinstance(paths, list) and paths
    if not is_list or not all(type(path) is str and _STEPS.fullmatch(path) for path in paths):
        yield ("facts",), _WANTED["facts"]
    if "facts" in given and "order" in given:
        yield ("order",), 'order = "every" acts on each change, so it has no facts: remove one'


def _faults_of_when(when: Any) -> Iterator[Fault]:
    try:
        fields = [*patterns.read(when).named()]
    except PatternError as error:
        yield ("when", *error.path), error.sentence
        return
    for field in fields:
        if field.path[0] not in MATCHED:
            known = ", ".join(MATCHED)
            what = f'"{field.path[0]}" is no field of an event; there are {known}'
            yield ("when", *field.path), what


def _faults_of_inputs(inputs: Any) -> Iterator[Fault]:
    if not isinstance(inputs, dict):
        yield ("inputs",), _WANTED["inputs"]
        return
    for name, source in inputs.items():
        if not isinstance(source, str):
            yield ("inputs", name), _WANTED["inputs"]
        elif source not in _SOURCES and not _SOURCE_PATH.fullmatch(source):
            known = ", ".join((*_SOURCES, *(f"{name}.…" for name in _SOURCES_OF_PATHS)))
            yield ("inputs", name), f'an event has no "{source}"; there are {known}'
