"""One state alone, as AWS's TestState plays it: an input, the variables around it, and a mocked
result or error, and what comes of them. Its cases are found by watching the scenarios."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from proof.asl.errors import Failure, StateFailedError, interval_seconds, matches
from proof.asl.expressions import Moment
from proof.asl.machine import Machine, State, _After, _Done, _Level
from proof.asl.position import Execution, Scope

Json = Any
_VARIABLE = re.compile(r"\$(\w+)")


@dataclass(frozen=True)
class Case:
    """A question to TestState. `used` counts the tries that a mocked error's retrier has spent."""

    state: str
    input: Json
    variables: Mapping[str, Json]
    clock_ms: int
    execution: str
    result: Json = None
    error: Failure | None = None
    used: int = 0


def played(machine: Machine, case: Case) -> Json:
    """Returns the expected answer of TestState: status, next state, output, the assigned variables,
    and the Retry or Catch that took the error."""
    level, state = _level_of(machine.definition, case)
    scope = Scope(case.state, case.input, {}, case.clock_ms, case.clock_ms)
    one = _OneState(machine)
    if state["Type"] in ("Task", "Map") and case.error is not None:
        return _of_error(one, scope, level, state, case)
    try:
        if state["Type"] in ("Task", "Map"):
            if state["Type"] == "Task":
                one.arguments(scope, level, state, case.clock_ms)
            seen = {"result": case.result}
            after: _After = one._next(scope, level, state, seen, case.result, case.clock_ms)
        elif state["Type"] == "Wait":
            one._wait(scope, level, state, case.clock_ms)
            after = one._next(scope, level, state, {}, case.input, case.clock_ms)
        else:
            after = one._through(scope, level, case.clock_ms)
    except StateFailedError as error:
        return _of_error(one, scope, level, state, case, error.failure)
    return {"status": "SUCCEEDED", **_after(after)}


def names_used(state: Mapping[str, Json]) -> set[str]:
    """The variables that a state's own expressions name; of a Map not those of its iterations."""
    own = {field: value for field, value in state.items() if field != "ItemProcessor"}
    return set(_VARIABLE.findall(json.dumps(own)))


class _OneState(Machine):
    """Stops where the next state would be entered."""

    def __init__(self, machine: Machine) -> None:
        vars(self).update(vars(machine))

    def _walk(self, scope: Scope, level: _Level, clock_ms: int) -> _After:  # noqa: ARG002
        return scope

    def arguments(self, scope: Scope, level: _Level, state: State, clock_ms: int) -> None:
        """Evaluated for their errors."""
        moment = Moment(clock_ms, self.readings.millis)
        self._evaluated(scope, level, state.get("Arguments", {}), {}, moment, "Arguments")


class Watching(Machine):
    """Tells `noted` what each state was given, and what its task or its Map came to."""

    noted: Callable[[Case], None]

    def _through(self, scope: Scope, level: _Level, clock_ms: int) -> _After:
        if level.states[scope.state]["Type"] != "Map":
            self._note(scope, level, clock_ms)
        return super()._through(scope, level, clock_ms)

    def _leave(self, scope: Scope, level: _Level, result: Json, clock_ms: int) -> _After:
        self._note(scope, level, clock_ms, result=result)
        return super()._leave(scope, level, result, clock_ms)

    def _failed(self, scope: Scope, level: _Level, failure: Failure, clock_ms: int) -> _After:
        if level.states[scope.state]["Type"] in ("Task", "Map"):
            retrier = _retrier_of(self, level.states[scope.state], failure.error)
            used = scope.tries[retrier] if scope.tries and retrier is not None else 0
            self._note(scope, level, clock_ms, error=failure, used=used)
        return super()._failed(scope, level, failure, clock_ms)

    def _note(self, scope: Scope, level: _Level, clock_ms: int, **came: Any) -> None:
        variables = {**level.variables, **scope.variables}
        case = Case(scope.state, scope.input, variables, clock_ms, level.execution.id, **came)
        # As it was then: a table in memory changes the rows that it once answered.
        type(self).noted(deepcopy(case))


def _level_of(definition: Mapping[str, Json], case: Case) -> tuple[_Level, Mapping[str, Json]]:
    execution = Execution(case.execution, case.input, case.clock_ms)
    for states in _levels(definition["States"]):
        if case.state in states:
            return _Level(states, execution, case.variables), states[case.state]
    raise LookupError(f"the definition has no state {case.state}")


def _levels(states: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
    yield states
    for state in states.values():
        if "ItemProcessor" in state:
            yield from _levels(state["ItemProcessor"]["States"])


def _of_error(
    one: _OneState,
    scope: Scope,
    level: _Level,
    state: State,
    case: Case,
    failure: Failure | None = None,
) -> Json:
    failure = failure or case.error
    assert failure is not None
    place = _retrier_of(one, state, failure.error)
    if place is not None and case.used < state["Retry"][place].get("MaxAttempts", 3):
        longest = interval_seconds(state["Retry"][place], case.used, 1.0)
        return {"status": "RETRIABLE", "retry": place, "atMostSeconds": longest}
    for index, catcher in enumerate(state.get("Catch", [])):
        if matches(catcher["ErrorEquals"], failure.error, one.readings):
            output = failure.output()
            seen = {"errorOutput": output}
            after = one._next(scope, level, catcher, seen, output, case.clock_ms)
            return {"status": "CAUGHT_ERROR", "catch": index, **_after(after)}
    return {"status": "FAILED", "error": failure.error}


def _retrier_of(machine: Machine, state: State, error: str) -> int | None:
    """The first that names the error, used up or not."""
    for place, retrier in enumerate(state.get("Retry", [])):
        if matches(retrier["ErrorEquals"], error, machine.readings):
            return place
    return None


def _after(after: _After) -> Json:
    if isinstance(after, _Done):
        return {"output": after.output}
    assert isinstance(after, Scope)
    return {"next": after.state, "output": after.input, "assigned": after.variables}
