"""Starts the emulator with the stage let in: `seam.py SERVER.py`, run in its process.

The Step Functions of ministack call DynamoDB, SQS and CloudWatch Logs inside the process, so there
is no wire to cut. Instead each call of an execution named `at-<clock>-…` asks the stage first and
tells it afterwards, and such an execution reads the stage's clock. All others run untouched.
"""

import json
import os
import runpy
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

from ministack.services import stepfunctions

_STAGE = f"http://127.0.0.1:{os.environ['STAGE_PORT']}"
_opener = build_opener(ProxyHandler({}))
# The context object of the state that this thread works for. Each iteration has its own.
_state: ContextVar[dict[str, Any]] = ContextVar("state")
_longest_ms: dict[str, int] = {}


def _clock_ms(context: dict[str, Any]) -> int | None:
    name: str = context.get("Execution", {}).get("Name", "")
    if not name.startswith("at-"):
        return None
    return int(name.split("-")[1]) + int(context.get("WaitedMs", 0))


def _item(context: dict[str, Any]) -> dict[str, Any]:
    """The element of the iteration; outside the Map there is none."""
    item: dict[str, Any] = context.get("Map", {}).get("Item", {}).get("Value", {})
    return item


def _let_pass(context: dict[str, Any], milliseconds: float) -> None:
    context["WaitedMs"] = context.get("WaitedMs", 0) + round(milliseconds)
    run = context["Execution"]["Name"]
    _longest_ms[run] = max(_longest_ms.get(run, 0), context["WaitedMs"])


def _lasting(execute_map: Callable[..., Any]) -> Callable[..., Any]:
    """A Map has taken as long as the slowest of its iterations, each with a clock of its own."""

    def execute(state: Any, given: Any, execution: Any, context: dict[str, Any]) -> Any:
        result = execute_map(state, given, execution, context)
        if _clock_ms(context) is not None:
            context["WaitedMs"] = _longest_ms.get(context["Execution"]["Name"], 0)
        return result

    return execute


def _ask(path: str, question: dict[str, Any]) -> dict[str, Any]:
    request = Request(f"{_STAGE}/{path}", json.dumps(question).encode())  # noqa: S310 - loopback
    with _opener.open(request) as answer:
        order: dict[str, Any] = json.load(answer)
    return order


def _in_the_state(function: Callable[..., Any], position: int) -> Callable[..., Any]:
    def run(*arguments: Any, **named: Any) -> Any:
        token = _state.set(named.get("ctx") or arguments[position] or {})
        try:
            return function(*arguments, **named)
        finally:
            _state.reset(token)

    return run


def _asking(invoke: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    def ask(resource: str, arguments: Any) -> Any:
        context = _state.get({})
        if _clock_ms(context) is None:
            return invoke(resource, arguments)

        def task() -> dict[str, Any]:
            return {
                "run": context["Execution"]["Name"],
                "state": context["State"]["Name"],
                "message": _item(context).get("messageId"),
                "arguments": arguments,
                "now_ms": _clock_ms(context),
            }

        first = _ask("before", {"task": task()})
        _let_pass(context, first["takes_ms"])
        if first["error"]:
            raise stepfunctions._ExecutionError(first["error"], first["cause"])
        failed, result = None, None
        try:
            result = invoke(resource, arguments)
        except stepfunctions._ExecutionError as error:
            failed = error
        said = [failed.error, failed.cause] if failed else None
        then = _ask("after", {"task": task(), "failed": said})
        _let_pass(context, then["takes_ms"])
        if then["error"]:
            raise stepfunctions._ExecutionError(then["error"], then["cause"])
        if failed:
            raise failed
        return result

    return ask


def _timeless(run: Callable[..., Any]) -> Callable[..., Any]:
    """A call of ours may hold another execution, and a timeout is a fault that the stage causes."""

    def run_without_timeout(resource: str, arguments: Any, timeout: float) -> Any:
        if _clock_ms(_state.get({})) is None:
            return run(resource, arguments, timeout)
        return stepfunctions._invoke_resource(resource, arguments)

    return run_without_timeout


def _let_the_stage_in() -> None:
    sleep, register = stepfunctions._scaled_sleep, stepfunctions._register_sfn_jsonata_functions

    def sleep_or_pass(seconds: float) -> None:
        context = _state.get({})
        if _clock_ms(context) is None:
            sleep(seconds)
        elif context["State"]["Name"].startswith("Wait"):  # else it is a Retry, which jitters
            _let_pass(context, seconds * 1_000)

    def register_clock(expression: Any) -> None:
        register(expression)
        now_ms = _clock_ms(_state.get({}))
        if now_ms is not None:
            expression.register_lambda("millis", lambda: now_ms)

    for name, position in {"_execute_task": 3, "_execute_wait": 2, "_evaluate_jsonata": 2}.items():
        setattr(stepfunctions, name, _in_the_state(getattr(stepfunctions, name), position))
    stepfunctions._execute_map = _lasting(stepfunctions._execute_map)
    stepfunctions._invoke_resource = _asking(stepfunctions._invoke_resource)
    timed = stepfunctions._invoke_resource_with_timeout
    stepfunctions._invoke_resource_with_timeout = _timeless(timed)
    stepfunctions._scaled_sleep = sleep_or_pass
    stepfunctions._register_sfn_jsonata_functions = register_clock


if __name__ == "__main__":
    _let_the_stage_in()
    _, *sys.argv = sys.argv
    runpy.run_path(sys.argv[0], run_name="__main__")
