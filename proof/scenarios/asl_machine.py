"""The state machine on our own interpreter, the stricter one.

The claims are a table of moto's, the queues and the log are lists. Iterations go side by side, the
one whose clock is furthest behind first.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from proof.asl.errors import Failure
from proof.asl.expressions import Expressions
from proof.asl.jsonata import Engine, Library
from proof.asl.machine import Call
from proof.asl.machine import Machine as Interpreter
from proof.asl.position import TOP, Ended, Execution, Path, Position
from proof.asl.readings import Readings
from proof.asl.services import REFUSED, error_name, function_error, function_result, result
from proof.definition.asl import definition, states
from proof.explorer.mutants import Edit, no_edit
from proof.explorer.table import Client, RefusedError, changed, key_of
from proof.scenarios.scenario import Settings
from proof.scenarios.stage import LambdaError, Stage, Task

Json = Any
# Evaluations are remembered over all scenarios and readings.
_LIBRARY = Expressions(Library())
_interpreters: dict[tuple[Settings, Readings, int, Edit], Interpreter] = {}


class AslMachine:
    """Implements `stage.Machine`; made by `set_for`."""

    def __init__(
        self, stage: Stage, engine: Engine | Expressions, readings: Readings, edit: Edit
    ) -> None:
        self._stage = stage
        self._readings = readings
        self._interpreter = _interpreter(stage.scenario.settings, engine, readings, edit)
        self._rows: dict[tuple[str, str], Json] = {}
        self._parked: list[Json] = []

    def execute(self, run: str, batch: list[dict[str, Any]]) -> dict[str, Any]:
        started_ms = int(run.split("-")[1])
        arn = f"arn:aws:states:us-east-1:123456789012:express:dedupe:{run}:{run}"
        execution = _Execution(self, run, Execution(arn, batch, started_ms))
        ended = execution.played()
        if ended.failure:
            return {"status": "FAILED", "error": ended.failure.error, "cause": ended.failure.cause}
        return {"status": "SUCCEEDED", "output": ended.output}

    def put_row(self, item: dict[str, Any]) -> None:
        self._rows[key_of({"Key": item})] = item

    def rows(self) -> list[dict[str, Any]]:
        return list(self._rows.values())

    def parked(self) -> list[dict[str, Any]]:
        return self._parked

    @property
    def dynamodb(self) -> Client:
        return Client(self._rows)

    def perform(self, call: Call) -> Json | Failure:
        request = call.arguments
        match call.resource.removeprefix("arn:aws:states:::"):
            case "dynamodb:getItem":
                row = self._rows.get(key_of(request))
                return result({"Item": row} if row else {})
            case ("dynamodb:putItem" | "dynamodb:updateItem") as operation:
                key = key_of(request)
                try:
                    after = changed(operation, request, self._rows.get(key))
                except RefusedError:
                    return REFUSED
                before, self._rows[key] = self._rows.get(key), after
                return result(_returned(request.get("ReturnValues"), before, after))
            case "lambda:invoke":
                try:
                    return function_result(self._stage.invoke(request["Payload"]))
                except LambdaError as error:
                    return function_error(error.name, error.message)
            case "sqs:sendMessage":
                # An object as the body is sent as its JSON (connect-sqs.html).
                self._parked.append(json.loads(json.dumps(request["MessageBody"])))
                return result({"MessageId": "parked", "MD5OfMessageBody": "0"})
            case "aws-sdk:cloudwatchlogs:putLogEvents":
                return {}
        raise NotImplementedError(f"no service here for {call.resource}")

    def failure(self, error: str, cause: str) -> Failure:
        """Files name errors by their services' codes."""
        return Failure(error_name(error, self._readings.error_names), cause)


class _Execution:
    def __init__(self, machine: AslMachine, run: str, execution: Execution) -> None:
        self._machine = machine
        self._interpreter = machine._interpreter
        self._run = run
        self._start_ms = execution.started_ms
        self._at = self._interpreter.start(execution, execution.started_ms)
        self._clocks: dict[Path, int] = {}
        self._items: Json = None
        self._ended_ms = execution.started_ms

    def played(self) -> Ended:
        while isinstance(self._at, Position):
            self._keep_time(self._at)
            place = min(self._clocks, key=lambda place: (self._clocks[place], place))
            wakes_ms = self._at.scope(place).wakes_ms
            if wakes_ms is not None:
                self._clocks[place] = wakes_ms
                self._at = self._interpreter.resume(self._at, wakes_ms, place)
            else:
                self._at = self._called(self._at, place)
        return self._at

    def _keep_time(self, at: Position) -> None:
        """Gives each place its clock. A Map takes as long as its slowest iteration; an iteration
        begins with its Map, or when another made room for it."""
        items = at.top.iterations and at.top.iterations.items
        places = at.places()
        running = self._clocks if items is self._items else {}
        ended = [ms for place, ms in self._clocks.items() if place not in running.keys() & places]
        self._items, self._ended_ms = items, max([self._ended_ms, *ended])
        self._clocks = {place: running.get(place, self._ended_ms) for place in places}

    def _called(self, at: Position, place: Path) -> Position | Ended:
        clock_ms = self._clocks[place]
        call = self._interpreter.call(at, clock_ms, place)
        if isinstance(call, Failure):
            return self._interpreter.fail(at, call, clock_ms, place)
        first = self._stage.before(self._task(at, place, call, clock_ms))
        clock_ms += first.takes_ms
        self._clocks[place] = clock_ms
        if first.error:
            failed = self._machine.failure(first.error, first.cause)
            return self._interpreter.fail(at, failed, clock_ms, place)
        answer = self._machine.perform(call)
        failure = (answer.error, answer.cause) if isinstance(answer, Failure) else None
        then = self._stage.after(self._task(at, place, call, clock_ms), failure)
        clock_ms += then.takes_ms
        self._clocks[place] = clock_ms
        if then.error:
            answer = self._machine.failure(then.error, then.cause)
        if isinstance(answer, Failure):
            return self._interpreter.fail(at, answer, clock_ms, place)
        return self._interpreter.answer(at, answer, clock_ms, place)

    @property
    def _stage(self) -> Stage:
        return self._machine._stage

    def _task(self, at: Position, place: Path, call: Call, clock_ms: int) -> Task:
        return Task(self._run, call.state, _message(at, place), call.arguments, clock_ms)


def _message(at: Position, place: Path) -> str | None:
    """The message of the iteration; until its claim is won or lost, its input says it."""
    event = at.variables(place).get("event")
    if event is None and place != TOP:
        event = at.scope(place).input["event"]
    return event["messageId"] if event else None


@contextmanager
def set_for(
    stage: Stage,
    readings: Readings | None = None,
    engine: Engine | Expressions = _LIBRARY,
    edit: Edit = no_edit,
) -> Iterator[AslMachine]:
    """`edit` breaks the definition first."""
    yield AslMachine(stage, engine, readings or Readings(), edit)


def _interpreter(
    settings: Settings, engine: Engine | Expressions, readings: Readings, edit: Edit
) -> Interpreter:
    at = (settings, readings, id(engine), edit)
    if at not in _interpreters:
        machine = definition(settings.substitutions())
        edit(states(machine))
        # Full jitter allows any wait up to its length, none too: a retry takes no time here.
        _interpreters[at] = Interpreter(
            _without_task_timeouts(machine), engine, readings, draw=lambda: 0.0
        )
    return _interpreters[at]


def _without_task_timeouts(level: Mapping[str, Any]) -> dict[str, Any]:
    """Removes time-outs: each is a fault of the stage, and a file says how long a call takes."""
    states = {}
    for name, state in level["States"].items():
        kept = {field: value for field, value in state.items() if field != "TimeoutSeconds"}
        if "ItemProcessor" in kept:
            kept["ItemProcessor"] = _without_task_timeouts(kept["ItemProcessor"])
        states[name] = kept
    return {**level, "States": states}


def _returned(values: str | None, before: Json, after: Json) -> Json:
    """API_UpdateItem.html, ReturnValues: UPDATED_NEW names only what the update set; ours reads no
    more than that of it."""
    match values:
        case "ALL_NEW" | "UPDATED_NEW":
            return {"Attributes": after}
        case "ALL_OLD" | "UPDATED_OLD":
            return {"Attributes": before} if before else {}
    return {}
