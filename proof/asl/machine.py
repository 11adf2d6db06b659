"""Steps an execution through a definition. It stops before every task and wherever time has to
pass, so that its caller decides what a task answers, and when.

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
from proof.asl.expressions import Moment, fill
from proof.asl.jsonata import Engine, iso
from proof.asl.position import Ended, Execution, Position, Scope
from proof.asl.readings import Arguments, ChoiceAssign, Readings, WaitAssign

Json = Any
State = Mapping[str, Any]

# service-quotas.html: input or output of a task, a state or an execution, in UTF-8; and, in
# workflow-variables.html, all variables of one Assign together.
PAYLOAD_BYTES = 256 * 1024
# choosing-workflow-type.html: an Express workflow runs for five minutes at most.
EXPRESS_SECONDS = 300
_LONGEST_SECONDS = 99_999_999
# A loop without a task or a wait never comes to an end; the machine's timeout would end it.
_MOST_STATES = 10_000
_text = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True)
class Call:
    """The call of a task."""

    state: str
    resource: str
    arguments: Json
    timeout_seconds: int


class Machine:
    """A definition that executions are stepped through. `draw` is the chance in full jitter."""

    def __init__(
        self,
        definition: Mapping[str, Any],
        engine: Engine,
        readings: Readings | None = None,
        *,
        draw: Callable[[], float] = random,
    ) -> None:
        check(definition)
        self.definition = definition
        self.readings = readings or Readings()
        self._states: Mapping[str, State] = definition["States"]
        self._engine = engine
        self._draw = draw

    def start(self, execution: Execution, clock_ms: int) -> Position | Ended:
        if _bytes(execution.input) > PAYLOAD_BYTES:
            raise ValueError("AWS refuses to start an execution whose input is over 256 KiB")
        first = _entered(self.definition["StartAt"], execution.input, {}, clock_ms)
        return self._walk(Position(execution, first), clock_ms)

    def call(self, position: Position, clock_ms: int) -> Call | Failure:
        """Returns the call of the task. A failure is for `fail`: the task is not called, and its
        own Retry and Catch apply."""
        scope, state = position.top, self._states[position.top.state]
        asked_ms, seen = clock_ms, {}
        if self.readings.arguments is Arguments.ONCE:
            asked_ms = scope.entered_ms
            seen = {"context": _context(position, tries=0)}
        moment = Moment(asked_ms, self.readings.millis)
        try:
            template = state.get("TimeoutSeconds", _LONGEST_SECONDS)
            seconds = self._evaluated(position, template, seen, moment, "TimeoutSeconds")
            _integer("TimeoutSeconds", seconds, 1, _LONGEST_SECONDS)
            template = state.get("Arguments", {})
            arguments = self._evaluated(position, template, seen, moment, "Arguments")
            _within(PAYLOAD_BYTES, arguments, f"the arguments of '{scope.state}'")
        except StateFailedError as error:
            return error.failure
        return Call(scope.state, state["Resource"], arguments, seconds)

    def answer(self, position: Position, result: Json, clock_ms: int) -> Position | Ended:
        """The task has its result."""
        late = self._late(position, clock_ms)
        if late:
            return self._failed(position, late, clock_ms)
        name = position.top.state
        if _bytes(result) > PAYLOAD_BYTES:
            cause = f"The state/task '{name}' returned a result with a size exceeding the maximum number of bytes service limit."  # noqa: E501
            return self._failed(position, Failure(DATA_LIMIT, cause), clock_ms)
        return self._leave(position, {"result": result}, result, clock_ms)

    def fail(self, position: Position, failure: Failure, clock_ms: int) -> Position | Ended:
        """The task has failed: a retrier sends it back there, a Catch takes it on, or the execution
        fails."""
        return self._failed(position, self._late(position, clock_ms) or failure, clock_ms)

    def resume(self, position: Position, clock_ms: int) -> Position | Ended:
        """An execution that slept is awake: after a wait, or for its next try."""
        scope = position.top
        if self._is_over(position, clock_ms):
            return Ended(failure=Failure(TIMEOUT))
        awake = replace(position, top=replace(scope, wakes_ms=None, tried_ms=clock_ms))
        if self._states[scope.state]["Type"] == "Task":
            return awake
        before = self.readings.wait_assign is WaitAssign.BEFORE
        asked_ms = scope.entered_ms if before else clock_ms
        return self._leave(awake, {}, scope.input, clock_ms, asked_ms)

    # From state to state.

    def _walk(self, at: Position | Ended, clock_ms: int) -> Position | Ended:
        """Passes through everything that needs nothing from outside."""
        for _ in range(_MOST_STATES):
            if isinstance(at, Ended) or at.top.wakes_ms is not None:
                return at
            state = self._states[at.top.state]
            if state["Type"] == "Task":
                return at
            try:
                at = self._through(at, state, clock_ms)
            except StateFailedError as error:
                return Ended(failure=error.failure)
        return Ended(failure=Failure(TIMEOUT, f"{_MOST_STATES} states without a task or a wait"))

    def _through(self, at: Position, state: State, clock_ms: int) -> Position | Ended:
        moment = Moment(clock_ms, self.readings.millis)
        match state["Type"]:
            case "Choice":
                rule = self._chosen(at, state, moment)
                return self._next(at, rule, {}, at.top.input, clock_ms, moment)
            case "Wait":
                seconds = self._evaluated(at, state["Seconds"], {}, moment, "Seconds")
                _integer("Seconds", seconds, 0, _LONGEST_SECONDS)
                return replace(at, top=replace(at.top, wakes_ms=clock_ms + seconds * 1_000))
        return self._next(at, state, {}, at.top.input, clock_ms, moment)

    def _chosen(self, at: Position, state: State, moment: Moment) -> Mapping[str, Json]:
        """Returns the first rule that is true, or the Choice itself for its Default."""
        always = self.readings.choice_assign is ChoiceAssign.ALWAYS
        for rule in state["Choices"]:
            met = self._evaluated(at, rule["Condition"], {}, moment, "Condition")
            if not isinstance(met, bool):
                raise StateFailedError(QUERY, _unexpected("Condition", "boolean", met))
            if not met:
                continue
            if not (always and "Assign" in state):
                return rule  # type: ignore[no-any-return] # a part of the definition
            # Evaluated for its errors too, if the rule assigns the same names.
            self._evaluated(at, state["Assign"], {}, moment, "Assign")
            return {**rule, "Assign": {**state["Assign"], **rule.get("Assign", {})}}
        if "Default" not in state:
            raise StateFailedError(NO_CHOICE, f"No rule of '{at.top.state}' matched.")
        return {**state, "Next": state["Default"]}

    def _leave(
        self,
        at: Position,
        seen: Mapping[str, Json],
        output: Json,
        clock_ms: int,
        asked_ms: int | None = None,
    ) -> Position | Ended:
        """Goes on from a state whose task answered, or whose wait is over."""
        if self._is_over(at, clock_ms):
            return Ended(failure=Failure(TIMEOUT))
        moment = Moment(clock_ms if asked_ms is None else asked_ms, self.readings.millis)
        state = self._states[at.top.state]
        try:
            after = self._next(at, state, seen, output, clock_ms, moment)
        except StateFailedError as error:
            return self._failed(at, error.failure, clock_ms)
        return self._walk(after, clock_ms)

    def _next(
        self,
        at: Position,
        rule: Mapping[str, Json],
        seen: Mapping[str, Json],
        output: Json,
        clock_ms: int,
        moment: Moment,
    ) -> Position | Ended:
        """Applies Assign and Output of a state, a rule or a Catch, both to what was there when the
        state was entered (workflow-variables.html, "Evaluation order")."""
        scope = at.top
        assigned = self._evaluated(at, rule.get("Assign", {}), seen, moment, "Assign")
        if "Output" in rule:
            output = self._evaluated(at, rule["Output"], seen, moment, "Output")
        if assigned:
            _within(PAYLOAD_BYTES, assigned, f"one Assign of '{scope.state}'")
        if output is not scope.input:
            _within(PAYLOAD_BYTES, output, f"the output of '{scope.state}'")
        if rule.get("End"):
            return Ended(output)
        variables = {**scope.variables, **assigned}
        return replace(at, top=_entered(rule["Next"], output, variables, clock_ms))

    # Failures.

    def _failed(self, at: Position, failure: Failure, clock_ms: int) -> Position | Ended:
        """A retrier first, then the Catch (concepts-error-handling.html, "Fallback states")."""
        if self._is_over(at, clock_ms):
            return Ended(failure=Failure(TIMEOUT))
        state = self._states[at.top.state]
        retrier = self._retrier(state, at.top, failure.error)
        if retrier is not None:
            tries = [*(at.top.tries or [0] * len(state["Retry"]))]
            seconds = interval_seconds(state["Retry"][retrier], tries[retrier], self._draw())
            tries[retrier] += 1
            wakes_ms = clock_ms + round(seconds * 1_000)
            return replace(at, top=replace(at.top, tries=tuple(tries), wakes_ms=wakes_ms))
        for catcher in state.get("Catch", []):
            if matches(catcher["ErrorEquals"], failure.error, self.readings):
                output = failure.output()
                moment = Moment(clock_ms, self.readings.millis)
                seen = {"errorOutput": output}
                try:
                    caught = self._next(at, catcher, seen, output, clock_ms, moment)
                except StateFailedError as error:
                    return Ended(failure=error.failure)
                return self._walk(caught, clock_ms)
        return Ended(failure=failure)

    def _retrier(self, state: State, scope: Scope, error: str) -> int | None:
        """The first retrier that names the error, unless it is used up. Its count is its own, for
        all its errors together (concepts-error-handling.html, "Complex retry scenario")."""
        for place, retrier in enumerate(state.get("Retry", [])):
            if matches(retrier["ErrorEquals"], error, self.readings):
                used = scope.tries[place] if scope.tries else 0
                return place if used < retrier.get("MaxAttempts", 3) else None
        return None

    def _late(self, at: Position, clock_ms: int) -> Failure | None:
        """state-task.html: a task that answers after TimeoutSeconds has failed by then."""
        moment = Moment(at.top.tried_ms, self.readings.millis)
        template = self._states[at.top.state].get("TimeoutSeconds", _LONGEST_SECONDS)
        try:
            seconds = self._evaluated(at, template, {}, moment, "TimeoutSeconds")
            _integer("TimeoutSeconds", seconds, 1, _LONGEST_SECONDS)
        except StateFailedError as error:
            return error.failure
        return Failure(TIMEOUT) if clock_ms - at.top.tried_ms > seconds * 1_000 else None

    def _is_over(self, at: Position, clock_ms: int) -> bool:
        seconds: int = min(self.definition.get("TimeoutSeconds", EXPRESS_SECONDS), EXPRESS_SECONDS)
        return clock_ms >= at.execution.started_ms + seconds * 1_000

    def _evaluated(
        self, at: Position, template: Json, seen: Mapping[str, Json], moment: Moment, field: str
    ) -> Json:
        context = _context(at, sum(at.top.tries))
        states = {"input": at.top.input, "context": context, **seen}
        bindings = {**at.top.variables, "states": states}
        return fill(template, self._engine, bindings, moment, field)


def _entered(name: str, given: Json, variables: dict[str, Json], clock_ms: int) -> Scope:
    return Scope(name, given, variables, clock_ms, clock_ms)


def _context(at: Position, tries: int) -> Json:
    """input-output-contextobject.html; `definition.CONTEXT` lists the same."""
    return {
        "Execution": {
            "Id": at.execution.id,
            "Input": at.execution.input,
            "Name": at.execution.name,
            "StartTime": iso(at.execution.started_ms),
        },
        "State": {
            "EnteredTime": iso(at.top.entered_ms),
            "Name": at.top.state,
            "RetryCount": tries,
        },
    }


def _within(limit_bytes: int, value: Json, what: str) -> None:
    if _bytes(value) > limit_bytes:
        raise StateFailedError(DATA_LIMIT, f"{what}: over {limit_bytes:,} bytes")


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
