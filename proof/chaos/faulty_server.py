"""Starts the emulator with faults: throttled requests, lost responses, functions and executions
that die.

ministack calls its services inside the process, so there is no wire to cut. Each fault is what AWS
would answer, at the border of the service that answers it.
"""

import json
import sys
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, cast

from ministack.core import lambda_runtime, responses
from ministack.services import dynamodb, lambda_svc, stepfunctions
from pydantic import BaseModel

from once.local import server
from proof.chaos.faults import Draws, Fault, Faults, OrderCheck

# Where they are written, in the folder of the emulator.
HAPPENED, ORDER_CHECKS = "faults.jsonl", "order_checks.jsonl"


class _KilledError(BaseException):
    """Ends an execution: no Catch of its definition sees it."""


@dataclass(frozen=True)
class _Call:
    """The caller of a service: a state of an execution."""

    execution: dict[str, Any]
    context: dict[str, Any]

    @property
    def state(self) -> str:
        name: str = self.context["State"]["Name"]
        return name

    @property
    def keys(self) -> list[str]:
        """The event of the state's iteration; outside of the map, those of the whole batch."""
        event = self.context.get("Map", {}).get("Item", {}).get("Value", {})
        return [event["idempotencyKey"]] if "idempotencyKey" in event else self.batch

    @property
    def owner(self) -> str:
        """The owner of the claim, as the definition names it."""
        run = self.execution["executionArn"].rpartition(":")[2]
        return f"{run}#{self.context['Map']['Item']['Value']['messageId']}"

    @property
    def batch(self) -> list[str]:
        return _keys_in(self.execution["input"])


@lru_cache(maxsize=64)
def _keys_in(batch: str) -> list[str]:
    return [one["idempotencyKey"] for one in json.loads(batch) if "idempotencyKey" in one]


_call: ContextVar[_Call] = ContextVar("call")


def _know_the_caller() -> None:
    execute = stepfunctions._execute_task

    def execute_task(state: Any, given: Any, execution: Any, context: Any) -> Any:
        token = _call.set(_Call(execution, context))
        try:
            return execute(state, given, execution, context)
        finally:
            _call.reset(token)

    stepfunctions._execute_task = execute_task


def _kill_executions(draws: Draws) -> None:
    invoke, run = stepfunctions._invoke_resource, stepfunctions._run_execution
    killed: set[str] = set()

    def invoke_or_die(resource: str, arguments: Any) -> Any:
        call = _call.get(None)
        if call is None:
            return invoke(resource, arguments)
        arn = call.execution["executionArn"]
        if arn in killed:
            raise _KilledError
        place = (call.state, *call.keys[:1])
        how = draws.draw("execution.killed", *place, about=call.batch, state=call.state)
        if how is not None:
            killed.add(arn)
            if how < 0.5:
                raise _KilledError
        result = invoke(resource, arguments)
        if arn in killed:  # by this call, or by another event's meanwhile
            raise _KilledError
        return result

    def run_until_killed(arn: str) -> None:
        try:
            run(arn)
        except _KilledError:
            execution = stepfunctions._executions[arn]
            stepfunctions._fail_execution(execution, "States.Timeout", "it was killed mid-way")

    stepfunctions._invoke_resource = invoke_or_die
    stepfunctions._run_execution = run_until_killed


def _note_order_checks(note: Callable[[OrderCheck], None]) -> None:
    """Notes each write that found no newer state, also if its answer is lost then."""
    update = dynamodb._update_item

    def update_and_note(request: Any) -> Any:
        call = _call.get(None)
        asked_ms = _now_ms()
        answer = update(request)
        if call is not None and call.state == "AdvanceLatest" and answer[0] == HTTPStatus.OK:
            note(OrderCheck(owner=call.owner, asked_ms=asked_ms, passed_ms=_now_ms()))
        return answer

    dynamodb._update_item = update_and_note


def _now_ms() -> float:
    return time.time_ns() / 1_000_000


def _spoil_the_table(draws: Draws) -> None:
    def spoilt(operation: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def operate(request: Any) -> Any:
            call = _call.get(None)
            if call is None:
                return operation(request)
            state, keys = call.state, call.keys
            place = (state, *keys[:1])
            if draws.draw("table.throttled", *place, about=keys, state=state) is not None:
                return responses.error_response_json(
                    "ProvisionedThroughputExceededException", "The table is throttled.", 400
                )
            answer = operation(request)
            if draws.draw("table.answer_lost", *place, about=keys, state=state) is not None:
                return responses.error_response_json(
                    "InternalServerError", "The answer was lost.", 500
                )
            return answer

        return operate

    for name in ("_delete_item", "_get_item", "_put_item", "_update_item"):
        setattr(dynamodb, name, spoilt(getattr(dynamodb, name)))


def _spoil_the_functions(draws: Draws) -> None:
    execute, invoke = lambda_svc._execute_function_warm, lambda_runtime.Worker.invoke

    def throttle_or_execute(function: Any, event: Any, request_id: str) -> Any:
        section, place, about = invocation(event)
        if draws.draw(cast("Fault", f"{section}.throttled"), place, about=about) is not None:
            return lambda_svc._throttle_response(
                "ReservedFunctionConcurrentInvocationLimitExceeded", "Rate Exceeded."
            )
        return execute(function, event, request_id)

    def invoke_or_die(worker: Any, event: Any, request_id: str, **more: Any) -> Any:
        section, place, about = invocation(event)
        how = draws.draw(cast("Fault", f"{section}.killed"), place, about=about)
        if how is None:
            return invoke(worker, event, request_id, **more)
        if how < 0.5:
            invoke(worker, event, request_id, **more)  # its work is done, its answer is not given
        if worker._proc is not None:
            worker._proc.kill()
            worker._proc.wait()
        return {"status": "error", "error": "Worker process died", "cold_start": False}

    lambda_svc._execute_function_warm = throttle_or_execute
    lambda_runtime.Worker.invoke = invoke_or_die


def invocation(event: Any) -> tuple[str, str, list[str]]:
    """Returns the function that is invoked, an id of the invocation, and the events it is about."""
    if isinstance(event, list):
        return "enrichment", event[0]["body"], [record["messageId"] for record in event]
    if "ask" in event:
        asked = event["events"] if event["ask"] == "begin" else event["batch"]
        # A message has another id in each run, and begin knows events by their time alone.
        known = [one.get("subjectKey", one.get("occurredAtMs")) for one in asked]
        return "pacing", f"{event['ask']} {known}", [one["messageId"] for one in asked]
    key: str = event["event"]["idempotencyKey"]
    return "data_action", key, [key]


def _writer(path: Path) -> Callable[[BaseModel], None]:
    lock = threading.Lock()

    def write(noted: BaseModel) -> None:
        with lock, path.open("a") as file:
            file.write(f"{noted.model_dump_json()}\n")

    return write


if __name__ == "__main__":
    thrower = Draws(Faults.model_validate_json(sys.argv.pop()), _writer(Path(HAPPENED)))
    server.put_right()
    _know_the_caller()
    _note_order_checks(_writer(Path(ORDER_CHECKS)))
    _kill_executions(thrower)
    _spoil_the_table(thrower)
    _spoil_the_functions(thrower)
    server.serve()
