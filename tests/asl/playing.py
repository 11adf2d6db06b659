"""Plays small definitions: a state's tasks get the answers that are listed under its name."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from proof.asl.errors import Failure
from proof.asl.jsonata import Library
from proof.asl.machine import Call, Machine
from proof.asl.position import Ended, Execution, Position
from proof.asl.readings import Readings

Json = Any
END = {"Type": "Pass", "End": True}
ALL = ["States.ALL"]
STARTED_MS = 1_000_000
_LIBRARY = Library()


def task(**fields: Json) -> Json:
    follows = {} if "Next" in fields else {"End": True}
    return {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", **fields, **follows}


def passing(**fields: Json) -> Json:
    follows = {} if "Next" in fields else {"End": True}
    return {"Type": "Pass", **fields, **follows}


def machine(states: Mapping[str, Json], readings: Readings | None = None, **more: Json) -> Machine:
    """Begins with the first of the states."""
    definition = {"QueryLanguage": "JSONata", "StartAt": next(iter(states)), "States": states}
    return Machine({**definition, **more}, _LIBRARY, readings, draw=lambda: 1.0)


class Play:
    """One execution of a definition from start to end."""

    usual: Mapping[str, Json] = {}
    """The answer of a task if none is left."""

    def __init__(
        self,
        played: Machine | Mapping[str, Json],
        given: Json = None,
        answers: Mapping[str, Sequence[Json]] | None = None,
        *,
        takes_ms: int = 0,
        started_ms: int = STARTED_MS,
    ) -> None:
        self.machine = played if isinstance(played, Machine) else machine(played)
        self.calls: list[Call] = []
        self.called_ms: list[int] = []
        self.clock_ms = started_ms
        self._left = defaultdict(list, {name: [*them] for name, them in (answers or {}).items()})
        arn = "arn:aws:states:us-east-1:123456789012:express:small:run:uuid"
        at = self.machine.start(Execution(arn, given, started_ms), started_ms)
        while isinstance(at, Position):
            at = self._moved(at, takes_ms)
        self.ended: Ended = at

    def _moved(self, at: Position, takes_ms: int) -> Position | Ended:
        if at.top.wakes_ms is not None:
            self.clock_ms = max(self.clock_ms, at.top.wakes_ms)
            return self.machine.resume(at, self.clock_ms)
        call = self.machine.call(at, self.clock_ms)
        if isinstance(call, Failure):
            return self.machine.fail(at, call, self.clock_ms)
        self.calls.append(call)
        self.called_ms.append(self.clock_ms - at.execution.started_ms)
        self.clock_ms += takes_ms
        left = self._left[call.state]
        answer = left.pop(0) if left else self.usual.get(call.state, {})
        if isinstance(answer, Failure):
            return self.machine.fail(at, answer, self.clock_ms)
        return self.machine.answer(at, answer, self.clock_ms)

    @property
    def output(self) -> Json:
        assert self.ended.failure is None, f"failed: {self.ended.failure}"
        return self.ended.output

    @property
    def error(self) -> str:
        assert self.ended.failure is not None, f"ended well: {self.ended.output}"
        return self.ended.failure.error
