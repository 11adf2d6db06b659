"""Steps an execution through a definition. It stops before every task and wherever time has to
pass, so that somebody else decides what a task answers, when, and which iteration goes first.

Nothing here has a clock, a memory or an effect: a position and an answer make the next position.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from random import random
from typing import Any

from proof.asl.definition import check
from proof.asl.errors import (
    DATA_LIMIT,
    NO_CHOICE,
    QUERY,
    TIMEOUT,
    Failure,
    StateFailedError,
    interval_seconds,
    matches,
)
from proof.asl.expressions import Expressions, Moment
from proof.asl.jsonata import Engine, iso
from proof.asl.position import Ended, Execution, Iterations, Path, Position, Scope
from proof.asl.readings import Arguments, ChoiceAssign, Readings, WaitAssign

Json = Any
State = Mapping[str, Any]

# service-quotas.html: input or output of a task, a state or an execution, in UTF-8; and, in
# workflow-variables.html, all variables of one Assign together.
PAYLOAD_BYTES = 256 * 1024
# choosing-workflow-type.html: an Express workflow runs for five minutes at most.
EXPRESS_SECONDS = 300
_LONGEST_SECONDS = 99_999_999
# state-map-inline.html: up to 40 iterations at once.
_MOST_AT_ONCE = 40
# A loop without a task or a wait never comes to an end; the machine's timeout would end it.
_MOST_STATES = 10_000
_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True)
class Call:
    """The call of a task, at a place of an execution."""

    state: str
    resource: str
    arguments: Json
    timeout_seconds: int


@dataclass(frozen=True)
class _Level:
    """The states of a scope, and what its expressions see from around it."""

    states: Mapping[str, State]
    execution: Execution
    variables: Mapping[str, Json]


@dataclass(frozen=True)
class _Done:
    """A scope that is through, with its output."""

    output: Json


_After = Scope | _Done | Failure
_Act = Callable[[Scope, _Level], _After]


class Machine:
    """`one_by_one` makes a Map finish an iteration before the next; `timeless` lets waits and
    retries take no time, and keeps times out of positions."""

    def __init__(
        self,
        definition: Mapping[str, Any],
        engine: Engine | Expressions,
        readings: Readings | None = None,
        *,
        one_by_one: bool = False,
        timeless: bool = False,
        draw: Callable[[], float] = random,
    ) -> None:
        check(definition)
        self.definition = definition
        self.readings = readings or Readings()
        # Machines that are mostly alike may share what their expressions came to.
        self._expressions = engine if isinstance(engine, Expressions) else Expressions(engine)
        self._one_by_one = one_by_one
        self._timeless = timeless
        self._draw = draw

    def start(self, execution: Execution, clock_ms: int) -> Position | Ended:
        if _bytes(execution.input) > PAYLOAD_BYTES:
            raise ValueError("AWS refuses to start an execution whose input is over 256 KiB")
        level = self._top(execution)
        scope = self._entered(self.definition["StartAt"], execution.input, {}, clock_ms)
        return self._arrived(execution, self._walk(scope, level, clock_ms))

    def state(self, position: Position, at: Path | None = None) -> State:
        """The definition of the state at a place."""
        states: Mapping[str, State] = self.definition["States"]
        scopes = position.scopes(position.only if at is None else at)
        for scope in scopes[:-1]:
            states = states[scope.state]["ItemProcessor"]["States"]
        return states[scopes[-1].state]

    def call(self, position: Position, clock_ms: int, at: Path | None = None) -> Call | Failure:
        """Returns the call of the task at a place. A failure is for `fail`: the task is not called,
        and its own Retry and Catch apply."""
        place = position.only if at is None else at
        scope, state = position.scope(place), self.state(position, at)
        variables, tries = position.variables(place), sum(scope.tries)
        asked_ms = clock_ms
        if self.readings.arguments is Arguments.ONCE:
            tries = 0
            asked_ms = clock_ms if self._timeless else scope.entered_ms
        moment = Moment(asked_ms, self.readings.millis)
        states = {"input": scope.input, "context": self._context(position.execution, scope, tries)}
        try:
            seconds = self._fill(
                state.get("TimeoutSeconds", _LONGEST_SECONDS),
                variables,
                states,
                moment,
                "TimeoutSeconds",
            )
            _integer("TimeoutSeconds", seconds, 1, _LONGEST_SECONDS)
            arguments = self._fill(
                state.get("Arguments", {}), variables, states, moment, "Arguments"
            )
            _within(PAYLOAD_BYTES, arguments, f"the arguments of '{scope.state}'")
        except StateFailedError as error:
            return error.failure
        return Call(scope.state, state["Resource"], arguments, seconds)

    def answer(
        self, position: Position, result: Json, clock_ms: int, at: Path | None = None
    ) -> Position | Ended:
        """The task at a place has its result."""

        def act(scope: Scope, level: _Level) -> _After:
            _awake(scope)
            late = self._late(scope, level, clock_ms)
            if late:
                return self._failed(scope, level, late, clock_ms)
            if _bytes(result) > PAYLOAD_BYTES:
                cause = f"The state/task '{scope.state}' returned a result with a size exceeding the maximum number of bytes service limit."  # noqa: E501
                return self._failed(scope, level, Failure(DATA_LIMIT, cause), clock_ms)
            return self._leave(scope, level, result, clock_ms)

        return self._step(position, clock_ms, at, act)

    def fail(
        self, position: Position, failure: Failure, clock_ms: int, at: Path | None = None
    ) -> Position | Ended:
        """The task at a place has failed: a retrier sends it back there, a Catch takes it on, or
        the Map around it fails, and at last the execution."""

        def act(scope: Scope, level: _Level) -> _After:
            _awake(scope)
            late = self._late(scope, level, clock_ms)
            return self._failed(scope, level, late or failure, clock_ms)

        return self._step(position, clock_ms, at, act)

    def retries(self, position: Position, error: str, at: Path | None = None) -> bool:
        """Returns true if the task at a place would be tried again after an error."""
        scope = position.scope(position.only if at is None else at)
        return self._retrier(self.state(position, at), scope, error) is not None

    def resume(self, position: Position, clock_ms: int, at: Path | None = None) -> Position | Ended:
        """A place that slept is awake: after a wait, or for its next try."""

        def act(scope: Scope, level: _Level) -> _After:
            if scope.wakes_ms is None:
                raise LookupError(f"{scope.state} does not sleep")
            scope = replace(scope, wakes_ms=None)
            if level.states[scope.state]["Type"] == "Wait":
                return self._waited(scope, level, clock_ms)
            return self._walk(replace(scope, tried_ms=clock_ms), level, clock_ms)

        return self._step(position, clock_ms, at, act)

    # From the place to the top.

    def _step(
        self, position: Position, clock_ms: int, at: Path | None, act: _Act
    ) -> Position | Ended:
        execution = position.execution
        limit_seconds = min(self.definition.get("TimeoutSeconds", EXPRESS_SECONDS), EXPRESS_SECONDS)
        if not self._timeless and clock_ms >= execution.started_ms + limit_seconds * 1_000:
            return Ended(failure=Failure(TIMEOUT))
        place = position.only if at is None else at
        level = self._top(execution)
        return self._arrived(execution, self._at(position.top, level, place, clock_ms, act))

    def _top(self, execution: Execution) -> _Level:
        return _Level(self.definition["States"], execution, {})

    def _arrived(self, execution: Execution, after: _After) -> Position | Ended:
        if isinstance(after, Scope):
            return Position(execution, after)
        return Ended(failure=after) if isinstance(after, Failure) else Ended(after.output)

    def _at(self, scope: Scope, level: _Level, place: Path, clock_ms: int, act: _Act) -> _After:
        if not place:
            return act(scope, level)
        index, *rest = place
        inner = _under_way(scope).running[index]
        after = self._at(inner, self._inside(scope, level), tuple(rest), clock_ms, act)
        return self._iterated(scope, level, index, after, clock_ms)

    def _inside(self, scope: Scope, level: _Level) -> _Level:
        states = level.states[scope.state]["ItemProcessor"]["States"]
        return _Level(states, level.execution, {**level.variables, **scope.variables})

    # From state to state.

    def _entered(self, name: str, given: Json, variables: dict[str, Json], clock_ms: int) -> Scope:
        entered_ms = 0 if self._timeless else clock_ms
        return Scope(name, given, variables, entered_ms, entered_ms)

    def _walk(self, scope: Scope, level: _Level, clock_ms: int) -> _After:
        """Passes through everything that needs nobody from outside."""
        after: _After = scope
        for _ in range(_MOST_STATES):
            if not isinstance(after, Scope) or after.wakes_ms is not None or after.iterations:
                return after
            if level.states[after.state]["Type"] == "Task":
                return after
            passing = after
            try:
                after = self._through(passing, level, clock_ms)
            except StateFailedError as error:
                after = self._failed(passing, level, error.failure, clock_ms)
        return Failure(TIMEOUT, f"{_MOST_STATES} states without a task or a wait")

    def _through(self, scope: Scope, level: _Level, clock_ms: int) -> _After:
        state = level.states[scope.state]
        match state["Type"]:
            case "Choice":
                return self._choose(scope, level, state, clock_ms)
            case "Wait":
                return self._wait(scope, level, state, clock_ms)
            case "Map":
                return self._open_map(scope, level, state, clock_ms)
            case "Fail":
                return self._end_in_failure(scope, level, state, clock_ms)
        return self._next(scope, level, state, {}, scope.input, clock_ms)

    def _leave(self, scope: Scope, level: _Level, result: Json, clock_ms: int) -> _After:
        """Goes on from a task or a Map that has its result."""
        state = level.states[scope.state]
        try:
            after = self._next(scope, level, state, {"result": result}, result, clock_ms)
        except StateFailedError as error:
            return self._failed(scope, level, error.failure, clock_ms)
        return self._walk(after, level, clock_ms) if isinstance(after, Scope) else after

    def _next(
        self,
        scope: Scope,
        level: _Level,
        rule: Mapping[str, Json],
        seen: Mapping[str, Json],
        output: Json,
        clock_ms: int,
        moment: Moment | None = None,
    ) -> Scope | _Done:
        """Applies Assign and Output of a state, a rule or a Catch, both to what was there when the
        state was entered (workflow-variables.html, "Evaluation order")."""
        moment = moment or Moment(clock_ms, self.readings.millis)
        assigned = self._evaluated(scope, level, rule.get("Assign", {}), seen, moment, "Assign")
        if "Output" in rule:
            output = self._evaluated(scope, level, rule["Output"], seen, moment, "Output")
        if assigned:
            _within(PAYLOAD_BYTES, assigned, f"one Assign of '{scope.state}'")
        if output is not scope.input:
            _within(PAYLOAD_BYTES, output, f"the output of '{scope.state}'")
        if rule.get("End") or rule.get("Type") == "Succeed":
            return _Done(output)
        return self._entered(rule["Next"], output, {**scope.variables, **assigned}, clock_ms)

    def _choose(self, scope: Scope, level: _Level, state: State, clock_ms: int) -> _After:
        moment = Moment(clock_ms, self.readings.millis)
        always = self.readings.choice_assign is ChoiceAssign.ALWAYS
        for rule in state["Choices"]:
            met = self._evaluated(scope, level, rule["Condition"], {}, moment, "Condition")
            if not isinstance(met, bool):
                raise StateFailedError(QUERY, _unexpected("Condition", "boolean", met))
            if met:
                if always and "Assign" in state:
                    both = {**state["Assign"], **rule.get("Assign", {})}
                    # Evaluated for its errors too, where the rule assigns the same names.
                    self._evaluated(scope, level, state["Assign"], {}, moment, "Assign")
                    rule = {**rule, "Assign": both}
                return self._next(scope, level, rule, {}, scope.input, clock_ms, moment)
        if "Default" not in state:
            raise StateFailedError(NO_CHOICE, f"No rule of '{scope.state}' matched.")
        rest = {**state, "Next": state["Default"]}
        return self._next(scope, level, rest, {}, scope.input, clock_ms, moment)

    def _wait(self, scope: Scope, level: _Level, state: State, clock_ms: int) -> _After:
        moment = Moment(clock_ms, self.readings.millis)
        seconds = self._evaluated(scope, level, state["Seconds"], {}, moment, "Seconds")
        _integer("Seconds", seconds, 0, _LONGEST_SECONDS)
        if self._timeless:
            return self._next(scope, level, state, {}, scope.input, clock_ms)
        return replace(scope, wakes_ms=clock_ms + seconds * 1_000)

    def _waited(self, scope: Scope, level: _Level, clock_ms: int) -> _After:
        state = level.states[scope.state]
        before = self.readings.wait_assign is WaitAssign.BEFORE
        moment = Moment(scope.entered_ms if before else clock_ms, self.readings.millis)
        try:
            after = self._next(scope, level, state, {}, scope.input, clock_ms, moment)
        except StateFailedError as error:
            return self._failed(scope, level, error.failure, clock_ms)
        return self._walk(after, level, clock_ms) if isinstance(after, Scope) else after

    def _end_in_failure(self, scope: Scope, level: _Level, state: State, clock_ms: int) -> Failure:
        moment = Moment(clock_ms, self.readings.millis)
        error = self._evaluated(scope, level, state.get("Error", ""), {}, moment, "Error")
        cause = self._evaluated(scope, level, state.get("Cause", ""), {}, moment, "Cause")
        for field, value in {"Error": error, "Cause": cause}.items():
            if not isinstance(value, str):
                raise StateFailedError(QUERY, _unexpected(field, "string", value))
        return Failure(error, cause)

    # Iterations.

    def _open_map(self, scope: Scope, level: _Level, state: State, clock_ms: int) -> _After:
        moment = Moment(clock_ms, self.readings.millis)
        items = scope.input
        if "Items" in state:
            items = self._evaluated(scope, level, state["Items"], {}, moment, "Items")
        if not isinstance(items, list):
            # transforming-data.html allows an object by now; recorded 2024-11-19 in
            # scenarios/test_base_scenarios it fails.
            raise StateFailedError(QUERY, _unexpected("Items", "array", items))
        if "ItemSelector" in state:
            items = [
                self._selected(scope, level, state["ItemSelector"], index, item, moment)
                for index, item in enumerate(items)
            ]
        most = self._evaluated(
            scope, level, state.get("MaxConcurrency", 0), {}, moment, "MaxConcurrency"
        )
        _integer("MaxConcurrency", most, 0, _LONGEST_SECONDS)
        at_once = 1 if self._one_by_one else min(most or _MOST_AT_ONCE, _MOST_AT_ONCE)
        return self._fill_up(replace(scope, iterations=Iterations(items, at_once)), level, clock_ms)

    def _selected(
        self, scope: Scope, level: _Level, template: Json, index: int, item: Json, moment: Moment
    ) -> Json:
        """Returns the input of an iteration (input-output-itemselector.html)."""
        context = self._context(level.execution, scope, sum(scope.tries))
        context["Map"] = {"Item": {"Index": index, "Value": item}}
        states = {"input": scope.input, "context": context}
        variables = {**level.variables, **scope.variables}
        return self._fill(template, variables, states, moment, "ItemSelector")

    def _iterated(
        self, scope: Scope, level: _Level, index: int, after: _After, clock_ms: int
    ) -> _After:
        """One iteration has come to another place, or to its end."""
        if isinstance(after, Failure):
            return self._broken_off(scope, level, after, clock_ms)
        moved = self._moved(_under_way(scope), index, after)
        opened = self._fill_up(replace(scope, iterations=moved), level, clock_ms)
        return self._walk(opened, level, clock_ms) if isinstance(opened, Scope) else opened

    def _moved(self, iterations: Iterations, index: int, after: Scope | _Done) -> Iterations:
        running = {**iterations.running}
        if isinstance(after, Scope):
            return replace(iterations, running={**running, index: after})
        running.pop(index, None)
        outputs = {**iterations.outputs, index: after.output}
        return replace(iterations, running=running, outputs=outputs)

    def _fill_up(self, scope: Scope, level: _Level, clock_ms: int) -> _After:
        """Begins iterations while there is room, in the order of the items."""
        iterations = _under_way(scope)
        processor = level.states[scope.state]["ItemProcessor"]
        inside = self._inside(scope, level)
        while len(iterations.running) < iterations.at_once and len(iterations.running) + len(
            iterations.outputs
        ) < len(iterations.items):
            index = len(iterations.running) + len(iterations.outputs)
            begun = self._entered(processor["StartAt"], iterations.items[index], {}, clock_ms)
            after = self._walk(begun, inside, clock_ms)
            if isinstance(after, Failure):
                return self._broken_off(scope, level, after, clock_ms)
            iterations = self._moved(iterations, index, after)
        if len(iterations.outputs) < len(iterations.items):
            return replace(scope, iterations=iterations)
        result = [iterations.outputs[index] for index in range(len(iterations.items))]
        return self._leave(replace(scope, iterations=None), level, result, clock_ms)

    def _broken_off(self, scope: Scope, level: _Level, failure: Failure, clock_ms: int) -> _After:
        """state-map-inline.html: one failed iteration fails the Map, and all others stop."""
        return self._failed(replace(scope, iterations=None), level, failure, clock_ms)

    # Failures.

    def _failed(self, scope: Scope, level: _Level, failure: Failure, clock_ms: int) -> _After:
        """A retrier first, then the Catch (concepts-error-handling.html, "Fallback states")."""
        state = level.states[scope.state]
        retrier = self._retrier(state, scope, failure.error)
        if retrier is not None:
            return self._again(scope, level, state["Retry"], retrier, clock_ms)
        for catcher in state.get("Catch", []):
            if matches(catcher["ErrorEquals"], failure.error, self.readings):
                output = failure.output()
                seen = {"errorOutput": output}
                try:
                    caught = self._next(scope, level, catcher, seen, output, clock_ms)
                except StateFailedError as error:
                    return error.failure
                return self._walk(caught, level, clock_ms) if isinstance(caught, Scope) else caught
        return failure

    def _retrier(self, state: State, scope: Scope, error: str) -> int | None:
        """The first retrier that names the error, unless it is used up. Its count is its own, for
        all its errors together (concepts-error-handling.html, "Complex retry scenario")."""
        for place, retrier in enumerate(state.get("Retry", [])):
            if matches(retrier["ErrorEquals"], error, self.readings):
                used = scope.tries[place] if scope.tries else 0
                return place if used < retrier.get("MaxAttempts", 3) else None
        return None

    def _again(
        self, scope: Scope, level: _Level, retriers: list[Json], place: int, clock_ms: int
    ) -> _After:
        tries = [*(scope.tries or [0] * len(retriers))]
        seconds = interval_seconds(retriers[place], tries[place], self._draw())
        tries[place] += 1
        scope = replace(scope, tries=tuple(tries))
        if self._timeless:
            return self._walk(scope, level, clock_ms)
        return replace(scope, wakes_ms=clock_ms + round(seconds * 1_000))

    def _late(self, scope: Scope, level: _Level, clock_ms: int) -> Failure | None:
        """state-task.html: a task that answers after TimeoutSeconds has failed by then."""
        if self._timeless:
            return None
        moment = Moment(scope.tried_ms, self.readings.millis)
        template = level.states[scope.state].get("TimeoutSeconds", _LONGEST_SECONDS)
        try:
            seconds = self._evaluated(scope, level, template, {}, moment, "TimeoutSeconds")
            _integer("TimeoutSeconds", seconds, 1, _LONGEST_SECONDS)
        except StateFailedError as error:
            return error.failure
        late = clock_ms - scope.tried_ms > seconds * 1_000
        return Failure(TIMEOUT) if late else None

    # Expressions.

    def _evaluated(
        self,
        scope: Scope,
        level: _Level,
        template: Json,
        seen: Mapping[str, Json],
        moment: Moment,
        field: str,
    ) -> Json:
        context = self._context(level.execution, scope, sum(scope.tries))
        states = {"input": scope.input, "context": context, **seen}
        variables = {**level.variables, **scope.variables}
        return self._fill(template, variables, states, moment, field)

    def _fill(
        self,
        template: Json,
        variables: Mapping[str, Json],
        states: Mapping[str, Json],
        moment: Moment,
        field: str,
    ) -> Json:
        return self._expressions.fill(template, variables, states, moment, field)

    def _context(self, execution: Execution, scope: Scope, tries: int) -> Json:
        """input-output-contextobject.html; `definition.CONTEXT` lists the same."""
        return {
            "Execution": {
                "Id": execution.id,
                "Input": execution.input,
                "Name": execution.name,
                "StartTime": iso(execution.started_ms),
            },
            "State": {
                "EnteredTime": iso(scope.entered_ms),
                "Name": scope.state,
                "RetryCount": tries,
            },
        }


def _awake(scope: Scope) -> None:
    if scope.wakes_ms is not None:
        raise LookupError(f"{scope.state} sleeps until {scope.wakes_ms}: resume it first")


def _under_way(scope: Scope) -> Iterations:
    if scope.iterations is None:
        raise LookupError(f"{scope.state} has no iterations")
    return scope.iterations


def _within(limit_bytes: int, value: Json, what: str) -> None:
    if _bytes(value) > limit_bytes:
        cause = f"{what}: over {limit_bytes:,} bytes"
        raise StateFailedError(DATA_LIMIT, cause)


def _bytes(value: Json) -> int:
    return len(_text(value).encode("utf-8", "surrogatepass"))


def _integer(field: str, value: Json, least: int, most: int) -> None:
    """transforming-data.html: a value of another type or out of range fails."""
    if type(value) is not int or not least <= value <= most:
        expected = f"integer from {least} to {most}"
        raise StateFailedError(QUERY, _unexpected(field, expected, value))


def _unexpected(field: str, expected: str, value: Json) -> str:
    return (
        f"The field '{field}' has an unexpected result type. "
        f"Expected '{expected}', but was {json.dumps(value)[:200]}"
    )
