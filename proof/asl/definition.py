"""Refuses what this interpreter does not know, and what AWS refuses when a machine is created and
no linter knows."""

import re
from collections.abc import Mapping
from typing import Any

from proof.asl.expressions import is_expression
from proof.definition.asl import strings

Json = Any

_ANY = {"Type", "Comment", "QueryLanguage"}
_ONWARD = {"Next", "End", "Assign", "Output"}
_CAUGHT = {"Retry", "Catch"}
_FIELDS = {
    "Pass": _ANY | _ONWARD,
    "Task": _ANY | _ONWARD | _CAUGHT | {"Resource", "Arguments", "TimeoutSeconds"},
    "Choice": _ANY | {"Choices", "Default", "Assign", "Output"},
    "Wait": _ANY | _ONWARD | {"Seconds"},
}
_MACHINE = {"Comment", "QueryLanguage", "StartAt", "States", "TimeoutSeconds", "Version"}
_RULE = {"Comment", "Condition", "Next", "Assign", "Output"}
_CATCHER = {"Comment", "ErrorEquals", "Next", "Assign", "Output"}
_RETRIER = {
    "Comment",
    "ErrorEquals",
    "IntervalSeconds",
    "MaxAttempts",
    "BackoffRate",
    "MaxDelaySeconds",
    "JitterStrategy",
}
CONTEXT = {
    "Execution": {"Id", "Input", "Name", "StartTime"},
    "State": {"EnteredTime", "Name", "RetryCount"},
}
_CONTEXT_PATH = re.compile(r"\$states\.context(?:\.(\w+))?(?:\.(\w+))?")


class DefinitionError(ValueError):
    """A definition that this interpreter cannot run, or that AWS would not create."""


def check(machine: Mapping[str, Json]) -> None:
    _only("the machine", machine, _MACHINE)
    if machine.get("QueryLanguage") != "JSONata":
        raise DefinitionError("the machine: only QueryLanguage JSONata is known here")
    for name, state in machine["States"].items():
        _check_state(name, state)


def _check_state(name: str, state: Mapping[str, Json]) -> None:
    kind = state.get("Type")
    if kind not in _FIELDS:
        raise DefinitionError(f"{name}: a state of type {kind} is not known here")
    _only(name, state, _FIELDS[kind])
    if state.get("QueryLanguage", "JSONata") != "JSONata":
        raise DefinitionError(f"{name}: only QueryLanguage JSONata is known here")
    for field, known in (("Choices", _RULE), ("Catch", _CATCHER), ("Retry", _RETRIER)):
        for rule in state.get(field, []):
            _only(f"{name}, {field}", rule, known)
    for field in _CAUGHT & set(state):
        # concepts-error-handling.html: States.ALL must be "in the last rule".
        if any("States.ALL" in rule["ErrorEquals"] for rule in state[field][:-1]):
            raise DefinitionError(f"{name}, {field}: States.ALL stands in the last rule")
    _check_expressions(name, state)
    _check_variables(name, state)


def _check_expressions(name: str, state: Mapping[str, Json]) -> None:
    """transforming-data.html: how an expression is written, and where $states has a result or an
    errorOutput, which AWS checks when a machine is created."""
    kind = state["Type"]
    for field, template in state.items():
        if field == "Comment":
            continue
        for text in strings(template):
            if text.startswith("{%") != text.endswith("%}"):
                raise DefinitionError(f"{name}, {field}: {{% or %}} is missing in {text!r}")
            if not is_expression(text):
                continue
            if "$eval(" in text:
                raise DefinitionError(f"{name}, {field}: Step Functions has $parse, not $eval")
            if "$states.result" in text and not (field in ("Assign", "Output") and kind == "Task"):
                raise DefinitionError(f"{name}, {field}: $states.result is not there yet")
            if "$states.errorOutput" in text and field != "Catch":
                raise DefinitionError(f"{name}, {field}: only a Catch has $states.errorOutput")
            for section, part in _CONTEXT_PATH.findall(text):
                if section and part not in {"", *CONTEXT.get(section, ())}:
                    path = f"$states.context.{section}.{part}"
                    raise DefinitionError(f"{name}, {field}: {path} is not known here")


def _check_variables(name: str, state: Mapping[str, Json]) -> None:
    """workflow-variables.html, "Variable naming"."""
    for rule in (state, *state.get("Choices", []), *state.get("Catch", [])):
        for variable in rule.get("Assign", {}):
            if not variable.isidentifier() or len(variable) > 80 or variable == "states":
                raise DefinitionError(f"{name}: no variable is called {variable}")


def _only(where: str, value: Mapping[str, Json], known: set[str]) -> None:
    for field in value:
        if field not in known:
            raise DefinitionError(f"{where}: the field {field} is not known here")
