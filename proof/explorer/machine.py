"""An interpreter of the state machine's definition that stops before every task, so that somebody
else decides what the task answers, and when."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from proof.explorer.expressions import fill

Json = dict[str, Any]


@dataclass(frozen=True)
class Frame:
    """Where one level of the machine stands: the top, or an iteration of a Map."""

    state: str
    input: Any
    variables: Json
    waiting: list[Any]
    finished: list[Any]


@dataclass(frozen=True)
class Position:
    """An execution that stands before a task."""

    run: str
    batch: list[Json]
    frames: tuple[Frame, ...]

    @property
    def state(self) -> str:
        return self.frames[-1].state


@dataclass(frozen=True)
class Ended:
    output: Any


@dataclass(frozen=True)
class Failure:
    error: str
    cause: str = ""


class Machine:
    def __init__(self, definition: Mapping[str, Any]) -> None:
        self.definition = definition

    def start(self, run: str, batch: list[Json], clock_ms: int) -> Position | Ended:
        top = Frame(self.definition["StartAt"], batch, {}, [], [])
        return self._walk(Position(run, batch, (top,)), clock_ms)

    def task(self, position: Position) -> Mapping[str, Any]:
        """The definition of the task that an execution stands before."""
        return self._state(position)

    def arguments(self, position: Position, clock_ms: int) -> Any:
        return self._fill(position, self._state(position)["Arguments"], {}, clock_ms)

    def retries(self, position: Position, error: str) -> bool:
        """Whether a task is tried again after an error. How often is not counted: once more is
        never worse than giving up, and once less is the failure that comes anyway."""
        for rule in self._state(position).get("Retry", []):
            if matches(rule["ErrorEquals"], error):
                return bool(rule["MaxAttempts"])
        return False

    def answer(self, position: Position, result: Any, clock_ms: int) -> Position | Ended:
        return self._walk(self._leave(position, result, clock_ms), clock_ms)

    def fail(self, position: Position, failure: Failure, clock_ms: int) -> Position | Ended:
        """The task has failed for good: the first Catch that names the error takes it."""
        levels = position.frames
        while levels:
            here = replace(position, frames=levels)
            for catch in self._state(here).get("Catch", []):
                if matches(catch["ErrorEquals"], failure.error):
                    seen = {"errorOutput": {"Error": failure.error, "Cause": failure.cause}}
                    caught = self._move(here, catch, seen, seen["errorOutput"], clock_ms)
                    return self._walk(caught, clock_ms)
            levels = levels[:-1]
        return Ended(failure)

    def _walk(self, position: Position | Ended, clock_ms: int) -> Position | Ended:
        """Passes through everything that needs no answer from outside."""
        while isinstance(position, Position):
            state = self._state(position)
            given = position.frames[-1].input
            match state["Type"]:
                case "Task":
                    return position
                case "Pass" | "Wait":
                    if "Seconds" in state:
                        self._fill(position, state["Seconds"], {}, clock_ms)
                    position = self._leave(position, given, clock_ms)
                case "Choice":
                    rule = self._chosen(position, state["Choices"], clock_ms)
                    taken = rule or {**state, "Next": state["Default"]}
                    position = self._move(position, taken, {}, given, clock_ms)
                case "Fail":
                    return Ended(Failure(state["Error"], state["Cause"]))
                case "Map":
                    items = self._fill(position, state["Items"], {}, clock_ms)
                    position = self._iterate(position, items, [], clock_ms)
                case unknown:
                    raise NotImplementedError(f"{position.state} is of type {unknown}")
        return position

    def _chosen(
        self, position: Position, rules: list[Json], clock_ms: int
    ) -> Mapping[str, Any] | None:
        for rule in rules:
            if self._fill(position, rule["Condition"], {}, clock_ms):
                return rule
        return None

    def _iterate(
        self, position: Position, items: list[Any], finished: list[Any], clock_ms: int
    ) -> Position | Ended:
        """Lanes have no row in common, so one after the other shows all that side by side would."""
        if not items:
            return self._leave(position, finished, clock_ms)
        outer = replace(position.frames[-1], waiting=items[1:], finished=finished)
        inner = Frame(self._state(position)["ItemProcessor"]["StartAt"], items[0], {}, [], [])
        return replace(position, frames=(*position.frames[:-1], outer, inner))

    def _leave(self, position: Position, result: Any, clock_ms: int) -> Position | Ended:
        """Goes on from a state that has its result, to the next one or out of this level."""
        state = self._state(position)
        moved = self._move(position, state, {"result": result}, result, clock_ms)
        if not state.get("End"):
            return moved
        output = moved.frames[-1].input
        if len(position.frames) == 1:
            return Ended(output)
        outer = position.frames[-2]
        around = replace(position, frames=position.frames[:-1])
        return self._iterate(around, outer.waiting, [*outer.finished, output], clock_ms)

    def _move(
        self,
        position: Position,
        rule: Mapping[str, Any],
        seen: Mapping[str, Any],
        output: Any,
        clock_ms: int,
    ) -> Position:
        """Applies Assign and Output of a state, a choice or a catch, all to the old variables."""
        frame = position.frames[-1]
        assigned = self._fill(position, rule.get("Assign", {}), seen, clock_ms)
        if "Output" in rule:
            output = self._fill(position, rule["Output"], seen, clock_ms)
        moved = replace(
            frame,
            state=rule.get("Next", frame.state),
            input=output,
            variables={**frame.variables, **assigned},
            waiting=[],
            finished=[],
        )
        return replace(position, frames=(*position.frames[:-1], moved))

    def _fill(
        self, position: Position, template: Any, seen: Mapping[str, Any], clock_ms: int
    ) -> Any:
        variables: Json = {}
        for frame in position.frames:
            variables.update(frame.variables)
        states = {
            "input": position.frames[-1].input,
            "context": {
                "Execution": {"Id": f"express:{position.run}", "Input": position.batch},
                "State": {"RetryCount": 0},
            },
            **seen,
        }
        return fill(template, variables, states, clock_ms)

    def _state(self, position: Position) -> Mapping[str, Any]:
        level = self.definition["States"]
        for frame in position.frames[:-1]:
            level = level[frame.state]["ItemProcessor"]["States"]
        state: Mapping[str, Any] = level[position.state]
        return state


def matches(errors: list[str], error: str) -> bool:
    return (
        error in errors
        or "States.ALL" in errors
        or ("States.TaskFailed" in errors and error != "States.Timeout")
    )
