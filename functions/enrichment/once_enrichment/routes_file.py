"""Reads the file of routes and names each faulty line.

`routes.toml` says how a route is written. `once routes check` tells its faults before a
deployment; after one, every event waits until they are corrected.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from once_enrichment import patterns
from once_enrichment.patterns import PatternError
from once_enrichment.routes import Route, Routes

MATCHED = ("family", "state", "subject", "ids", "body", "metadata")
"""The fields of an event that `when` may name."""

Path = tuple[str | int, ...]
Fault = tuple[Path, str]

_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_AT_LINE = re.compile(r" ?\(at line (\d+), column \d+\)")
_HEADER = re.compile(r"\[+\s*routes?\b[^#]*")
_LONGEST_LINE = 60
_SOURCE = re.compile(
    r"idempotencyKey|family|topic|organizationId|state|occurredAt|occurredAtMs|publishedAt"
    r"|subject\.(type|id)|key\.(pk|sk)|body|(ids|trace|body|metadata)(\.[^.]+)+"
)
_SOURCES = (
    "idempotencyKey, family, topic, organizationId, state, occurredAt, occurredAtMs, publishedAt, "
    "subject.type, subject.id, key.pk, key.sk, body, ids.…, trace.…, body.…, metadata.…"
)


_FORMS = {
    "name": re.compile(r"[ -~]{1,60}"),
    "family": re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(\.\*)?|\*"),
    "max_age": re.compile(r"[1-9][0-9]{0,5}[smhd]"),
    "action": re.compile(r"[A-Za-z0-9_-]{1,128}"),
}
_WANTED = {
    "name": "name is a text of up to 60 plain characters",
    "family": 'family is a name such as "user.presence", a beginning such as "user.*", or "*"',
    "when": "",  # patterns.py tells its faults
    "max_age": 'max_age is a number with s, m, h or d, such as "90s" or "5m"',
    "action": 'action is the id of a data action, "send" for any other target, or "none"',
    "inputs": 'inputs are a table of lines such as conversation = "ids.conversationId"',
}


@dataclass(frozen=True)
class Finding:
    """A faulty line."""

    line: int
    text: str


class InvalidRoutesError(Exception):
    """The file cannot be used; the text names its first faulty line."""


def read(name: str, text: str) -> Routes:
    """The routes of a file, or InvalidRoutesError."""
    routes, findings = check(text)
    if findings:
        raise InvalidRoutesError(f"{name}, line {findings[0].line}: {findings[0].text}")
    return Routes(tuple(routes))


def check(text: str) -> tuple[list[Route], list[Finding]]:
    """The routes that can be read, and every faulty line."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return [], [_wrong_header(text) or _not_toml(text, error)]
    tables = document.get("routes")
    if not isinstance(tables, list) or not tables:
        missing = Finding(line_of(text, ("routes",)), 'no [[routes]]: add one for family = "*"')
        outside = f'"{next(iter(document), "")}" is in no route: each begins with [[routes]]'
        other = Finding(1, outside) if document else missing
        return [], [_wrong_header(text) or other]
    faults: list[Fault] = [
        ((key,), f'"{key}" is not known here') for key in document if key != "routes"
    ]
    routes: list[Route] = []
    for at, table in enumerate(tables):
        wrong = [*_faults_of(table)]
        if not wrong:
            route = _route(table)
            wrong = [((), what) for what in _faults_among(routes, route)]
            routes.append(route)
        faults += [(("routes", at, *path), what) for path, what in wrong]
    if not faults and (routes[-1].family != "*" or routes[-1].when):
        wants = 'the last route wants family = "*" and no "when": each event must have a route'
        faults.append((("routes", len(routes) - 1), wants))
    findings = [Finding(line_of(text, path), what) for path, what in faults]
    return routes, sorted(findings, key=lambda finding: finding.line)


def _wrong_header(text: str) -> Finding | None:
    """Finds a line that was meant to begin a route."""
    for number, line in enumerate(text.split("\n"), 1):
        found = _HEADER.match(line.lstrip())
        if found and found[0].strip() != "[[routes]]":
            return Finding(number, f"{found[0].strip()} begins no route: write [[routes]]")
    return None


def _not_toml(text: str, error: tomllib.TOMLDecodeError) -> Finding:
    if text.startswith("\ufeff"):
        return Finding(1, "a byte order mark: save the file as UTF-8 without one")
    lines = text.split("\n")
    at_line = _AT_LINE.search(str(error))
    number = int(at_line[1]) if at_line else len(lines)
    what = f"not TOML: {_AT_LINE.sub('', str(error))}"
    line = lines[number - 1].strip()
    return Finding(number, f"{what}, in: {line[:_LONGEST_LINE]}" if line else what)


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
        elif not _SOURCE.fullmatch(source):
            yield ("inputs", name), f'an event has no "{source}"; there are {_SOURCES}'


def _route(table: dict[str, Any]) -> Route:
    age = table.get("max_age")
    return Route(
        name=table.get("name", table["family"]),
        family=table["family"],
        when=patterns.read(table["when"]) if "when" in table else None,
        max_age_ms=int(age[:-1]) * _UNIT_MS[age[-1]] if age else None,
        action=table["action"],
        inputs=table.get("inputs"),
    )


def _faults_among(earlier: list[Route], route: Route) -> Iterator[str]:
    for one in earlier:
        if one.is_for(route.family) and _takes_all(one, route):
            yield f'no event reaches this route: "{one.name}" takes all that it wants'
            return
    if route.name in [one.name for one in earlier]:
        yield f'another route is named "{route.name}": give this one a name of its own'


def _takes_all(one: Route, other: Route) -> bool:
    """Tells that the condition of one holds wherever the other's does, if that can be seen."""
    if one.when is None or one.when == other.when:
        return True
    if other.when is None:
        return False
    wanted = {field.path: field.wanted for field in other.when.required()}
    return [*one.when.named()] == [*one.when.required()] and all(
        field.path in wanted and all(value in field.wanted for value in wanted[field.path])
        for field in one.when.required()
    )


def line_of(text: str, path: Path) -> int:
    """The first line up to which the text, read as TOML, has something at this path."""
    lines = text.split("\n")
    for number in range(1, len(lines) + 1):
        try:
            node: Any = tomllib.loads("\n".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue  # this line is inside a value that goes on
        if _has(node, path):
            return number
    return line_of(text, path[:-1]) if path else len(lines)


def _has(node: Any, path: Path) -> bool:
    for part in path:
        if isinstance(node, list):
            if not isinstance(part, int) or part >= len(node):
                return False
        elif not isinstance(node, dict) or part not in node:
            return False
        node = node[part]
    return True
