"""The operator's mapping: which data action a family calls, and what it is given.

Every fault is told with its line, by `once mapping check` before a deployment and by the first
call after one.
"""

import json
import re
import tomllib
from collections.abc import Mapping as MappingABC
from dataclasses import dataclass
from typing import Any

from .errors import NotConfigured

OBSERVE = "none"

_ACTION_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_PATTERN = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*(\.\*)?|\*")
_PLACEHOLDER = "custom_-_00000000-0000-0000-0000-000000000000"
_LINE = re.compile(r" ?\(at line (\d+), column \d+\)")

# Where a value may come from. What ends in a dot goes on freely: ids differ, and bodies do more.
_SOURCES = {
    "idempotencyKey",
    "family",
    "topic",
    "organizationId",
    "state",
    "occurredAt",
    "occurredAtMs",
    "publishedAt",
    "subject.type",
    "subject.id",
    "key.pk",
    "key.sk",
    "body",
}
_OPEN_SOURCES = ("ids.", "trace.", "body.")


@dataclass(frozen=True)
class Finding:
    line: int
    text: str
    fatal: bool = True


@dataclass(frozen=True)
class Action:
    id: str
    inputs: MappingABC[str, str]
    pattern: str


class Mapping:
    """The actions by pattern. Made by `read`, which has checked the text."""

    def __init__(self, name: str, text: str, actions: list[Action]) -> None:
        self._name = name
        self._text = text
        # Exact names first, then the longest pattern.
        self._actions = sorted(
            actions, key=lambda action: (action.pattern.endswith("*"), -len(action.pattern))
        )

    def action_for(self, family: str) -> Action:
        for action in self._actions:
            if _matches(action.pattern, family):
                return action
        raise NotConfigured(
            f"{self._name}: no data action for the family {family}; add a line under [actions], "
            f'with the id "{OBSERVE}" if nothing is to be called'
        )

    def where(self, action: Action) -> str:
        return f"{self._name}, line {_line_of(self._text, ('actions', action.pattern))}"


def read(name: str, text: str) -> Mapping:
    """The mapping, or NotConfigured with the first faulty line."""
    actions, findings = _parse(text)
    faults = [finding for finding in findings if finding.fatal]
    if faults:
        raise NotConfigured(f"{name}, line {faults[0].line}: {faults[0].text}")
    return Mapping(name, text, actions)


def check(text: str) -> list[Finding]:
    """Everything that is wrong or doubtful in a mapping, by line."""
    return sorted(_parse(text)[1], key=lambda finding: finding.line)


def inputs_for(action: Action, event: MappingABC[str, Any], key: str, body: Any) -> dict[str, Any]:
    """The flat map an action is executed with. `body` is None where `needs_body` says no."""
    values = {**event, "idempotencyKey": key, "body": body}
    inputs = {}
    for name, source in action.inputs.items():
        value: Any = values
        for part in source.split("."):
            value = _step(value, part)
        if isinstance(value, dict | list):
            value = json.dumps(value, separators=(",", ":"))
        if value is not None:
            inputs[name] = value
    return inputs


def needs_body(action: Action) -> bool:
    return any(source.split(".", 1)[0] == "body" for source in action.inputs.values())


def _step(value: Any, part: str) -> Any:
    if isinstance(value, dict):
        return value.get(part)
    if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
        return value[int(part)]
    return None


def _matches(pattern: str, family: str) -> bool:
    if pattern.endswith("*"):
        return family.startswith(pattern[:-1])
    return family == pattern


def _parse(text: str) -> tuple[list[Action], list[Finding]]:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = _LINE.search(str(error))
        line = int(at[1]) if at else text.count("\n") + 1
        return [], [Finding(line, f"not TOML: {_LINE.sub('', str(error))}")]

    findings: list[Finding] = []

    def fault(path: tuple[str, ...], what: str, *, fatal: bool = True) -> None:
        findings.append(Finding(_line_of(text, path), what, fatal))

    for name in document.keys() - {"actions", "inputs"}:
        fault((name,), f'"{name}" is not known here; there are [actions] and [inputs]')
    common = _read_inputs(document.get("inputs", {}), ("inputs",), fault)
    table = document.get("actions")
    if not isinstance(table, dict) or not table:
        fault(("actions",), 'no [actions]: add the table with a line such as "*" = "<action id>"')
        return [], findings

    actions = []
    for pattern, entry in table.items():
        path = ("actions", pattern)
        if not _PATTERN.fullmatch(pattern):
            fault(path, f'"{pattern}" is not a family, nor one that ends in ".*", nor "*"')
            continue
        spec = {"id": entry} if isinstance(entry, str) else entry
        if not isinstance(spec, dict) or not isinstance(spec.get("id"), str):
            fault(path, f'"{pattern}" wants the id of a data action: "{pattern}" = "<action id>"')
            continue
        for name in spec.keys() - {"id", "inputs"}:
            fault((*path, name), f'"{name}" is not known here; an action has an id and inputs')
        inputs = common
        if "inputs" in spec:
            inputs = _read_inputs(spec["inputs"], (*path, "inputs"), fault)
        action = Action(spec["id"], inputs, pattern)
        if not _ACTION_ID.fullmatch(action.id):
            fault(path, f'"{action.id}" is not the id of a data action, nor "{OBSERVE}"')
        elif action.id == _PLACEHOLDER:
            fault(path, "this id is the example; give your action's", fatal=False)
        if action.id != OBSERVE and "idempotencyKey" not in inputs.values():
            fault(
                path,
                'no input takes "idempotencyKey": the endpoint could not tell a repeated call',
                fatal=False,
            )
        actions.append(action)
    return actions, findings


def _read_inputs(table: Any, path: tuple[str, ...], fault: Any) -> dict[str, str]:
    if not isinstance(table, dict):
        fault(path, 'inputs are a table of lines such as conversation = "ids.conversationId"')
        return {}
    inputs = {}
    for name, source in table.items():
        if not isinstance(source, str):
            fault((*path, name), f'"{name}" wants the place of a value, as a text in quotes')
        elif source not in _SOURCES and not (
            source.startswith(_OPEN_SOURCES) and all(source.split("."))
        ):
            places = ", ".join([*sorted(_SOURCES), *(f"{start}…" for start in _OPEN_SOURCES)])
            fault((*path, name), f'an event has no "{source}"; there are {places}')
        else:
            inputs[name] = source
    return inputs


def _line_of(text: str, path: tuple[str, ...]) -> int:
    """The first line up to which the text, read as TOML, has something at this path."""
    lines = text.split("\n")
    for number in range(1, len(lines) + 1):
        try:
            node: Any = tomllib.loads("\n".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            continue  # this line is inside a value that goes on
        for part in path:
            node = node.get(part) if isinstance(node, dict) else None
        if node is not None:
            return number
    return len(lines)
