"""Refuses what this interpreter does not know, and what AWS refuses when a machine is created."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from proof.asl.expressions import is_expression

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
_NEEDED = {"Task": {"Resource"}, "Choice": {"Choices"}, "Wait": {"Seconds"}}
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
    names = set(machine["States"])
    _exists("the machine", "StartAt", machine.get("StartAt"), names)
    for name, state in machine["States"].items():
        _check_state(name, state, names)


def _check_state(name: str, state: Mapping[str, Json], names: set[str]) -> None:
    kind = state.get("Type")
    if kind not in _FIELDS:
        raise DefinitionError(f"{name}: a state of type {kind} is not known here")
    _only(name, state, _FIELDS[kind])
    if state.get("QueryLanguage", "JSONata") != "JSONata":
        raise DefinitionError(f"{name}: only QueryLanguage JSONata is known here")
    for missing in _NEEDED.get(kind, set()) - set(state):
        raise DefinitionError(f"{name}: a {kind} needs {missing}")
    if "Next" in _FIELDS[kind]:
        _check_onward(name, state, names)
    for rule in state.get("Choices", []):
        _only(f"{name}, a rule", rule, _RULE)
        _exists(name, "a rule's Next", rule.get("Next"), names)
    if "Default" in state:
        _exists(name, "Default", state["Default"], names)
    for catcher in state.get("Catch", []):
        _only(f"{name}, a Catch", catcher, _CATCHER)
        _exists(name, "a Catch's Next", catcher.get("Next"), names)
    for retrier in state.get("Retry", []):
        _check_retrier(name, retrier)
    for field in _CAUGHT & set(state):
        _check_names(f"{name}, {field}", [rule["ErrorEquals"] for rule in state[field]])
    _check_expressions(name, state)
    _check_variables(name, state)


def _check_onward(name: str, state: Mapping[str, Json], names: set[str]) -> None:
    if ("Next" in state) == bool(state.get("End")):
        raise DefinitionError(f"{name}: exactly one of Next and End says what follows")
    if "Next" in state:
        _exists(name, "Next", state["Next"], names)


def _check_retrier(name: str, retrier: Mapping[str, Json]) -> None:
    """concepts-error-handling.html, "Retrying after an error"."""
    _only(f"{name}, a Retry", retrier, _RETRIER)
    bounds = {
        "IntervalSeconds": (1, 99_999_999),
        "MaxAttempts": (0, 99_999_999),
        "MaxDelaySeconds": (1, 31_622_400),
    }
    for field, (least, most) in bounds.items():
        value = retrier.get(field, least)
        if type(value) is not int or not least <= value <= most:
            raise DefinitionError(f"{name}: {field} is {value}, not from {least} to {most}")
    if retrier.get("BackoffRate", 2.0) < 1:
        raise DefinitionError(f"{name}: BackoffRate is {retrier['BackoffRate']}, below 1")
    if retrier.get("JitterStrategy", "NONE") not in ("FULL", "NONE"):
        raise DefinitionError(f"{name}: JitterStrategy is neither FULL nor NONE")


def _check_names(where: str, lists: list[list[str]]) -> None:
    """concepts-error-handling.html: States.ALL "must appear alone" and in the last rule."""
    for place, names in enumerate(lists):
        if not names:
            raise DefinitionError(f"{where}: an ErrorEquals is empty")
        if "States.ALL" in names and (len(names) > 1 or place < len(lists) - 1):
            raise DefinitionError(f"{where}: States.ALL stands alone and in the last rule")


def _check_expressions(name: str, state: Mapping[str, Json]) -> None:
    """transforming-data.html: how an expression is written, and where $states has a result or an
    errorOutput, which AWS checks when a machine is created."""
    kind = state["Type"]
    for field, template in state.items():
        if field == "Comment":
            continue
        for text in _strings(template):
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


def _exists(where: str, field: str, name: object, names: set[str]) -> None:
    if name not in names:
        raise DefinitionError(f"{where}: {field} names {name}, which is no state beside it")


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
