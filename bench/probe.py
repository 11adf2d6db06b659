"""Runs the emulator's server with a probe inside, which notes the state machine's requests to other
services, the times of its functions and its states, and makes the store slower or fail on demand.

`bench.stack` runs it in place of once/local/server.py. It writes what it saw to probe.jsonl
beside ministack's own files, and reads there, in faults.json, what is to go wrong, and for whom.
"""

import json
import os
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from ministack import app
from ministack.services import lambda_svc, sqs, stepfunctions

from bench import machine_log
from once.local import server

FOLDER = Path(os.environ["TMPDIR"]).parent
SEEN = FOLDER / "probe.jsonl"
FAULTS = FOLDER / "faults.json"
TASK_EVENTS = ("TaskScheduled", "TaskSucceeded", "TaskFailed")
STORE_SECONDS = float(os.environ.get("PROBE_STORE_MS", "0")) / 1000

_lock = threading.Lock()
_unmarked = threading.Condition()
_acting: Counter[str] = Counter()  # acts of an execution that it has not marked yet
_dead: set[str] = set()  # executions that were made to end
_done: set[tuple[str, str]] = set()  # each fault strikes a message once
_states: dict[str, list[list[Any]]] = {}
_data: Counter[str] = Counter()  # bytes that LogPayloads=true adds to the log of an execution
_SDK_RESULTS = ("dynamodb", "lambda", "sqs")


def _note(**what: Any) -> None:
    with _lock, SEEN.open("a") as seen:
        seen.write(json.dumps(what) + "\n")


def _strikes(fault: str, message_id: str) -> bool:
    try:
        said = json.loads(FAULTS.read_text())
    except FileNotFoundError:
        return False
    with _lock:
        if message_id not in said.get(fault, ()) or (fault, message_id) in _done:
            return False
        _done.add((fault, message_id))
        return True


def _end_execution(run: str) -> None:
    """Ends an execution as if Step Functions had lost it: no state runs, and no Catch."""
    _dead.add(run)
    execution = next(e for arn, e in stepfunctions._executions.items() if arn.endswith(run))
    stepfunctions._fail_execution(execution, "States.Runtime", "The execution was lost.")


def _refuse_the_dead(run: str) -> None:
    if run in _dead:
        raise RuntimeError("this execution has ended")


def _run_of(owner: str) -> str:
    return owner.partition("#")[0]


def _watch_store() -> None:
    invoke = stepfunctions._invoke_dynamodb

    def ask(operation: str, given: dict[str, Any]) -> Any:
        item = given.get("Item") or {}
        me = given.get("ExpressionAttributeValues", {}).get(":me") or item.get("owner") or {}
        run_id = _run_of(me.get("S", ""))
        _refuse_the_dead(run_id)
        time.sleep(STORE_SECONDS)
        writes = operation != "getItem"
        units = 0.0
        refused = False
        try:
            answer = invoke(operation, {**given, "ReturnConsumedCapacity": "TOTAL"})
            units = answer.pop("ConsumedCapacity")["CapacityUnits"]
        except stepfunctions._ExecutionError as error:
            refused = error.error.endswith("ConditionalCheckFailedException")
            # A refused write says nothing of its price: the size of the item there, at least 1 KB.
            units = 1.0
            raise
        finally:
            _note(
                kind="store",
                operation=operation,
                write=units if writes else 0,
                read=0 if writes else units,
                refused=refused,
            )
        if ":in_progress" in given.get("ExpressionAttributeValues", {}) and not item:
            with _unmarked:  # completed, or released
                _acting[run_id] -= 1
                _unmarked.notify_all()
        message_id = item.get("message_id", {}).get("S", "")
        if operation == "putItem" and _strikes("store-answer-lost", message_id):
            raise stepfunctions._ExecutionError(
                "DynamoDB.InternalServerError", "Its answer is lost."
            )
        return answer

    stepfunctions._invoke_dynamodb = ask


def _watch_functions() -> None:
    execute = lambda_svc._execute_function_warm

    def run(function: dict[str, Any], event: Any, request_id: str) -> dict[str, Any]:
        started = time.perf_counter()
        answer: dict[str, Any] = execute(function, event, request_id)
        name = (function.get("config") or function).get("FunctionName", "")
        milliseconds = (time.perf_counter() - started) * 1000
        _note(
            kind="function", name=name, ms=round(milliseconds, 2), failed=bool(answer.get("error"))
        )
        return answer

    lambda_svc._execute_function_warm = run

    call = stepfunctions._call_lambda

    def call_and_die(function: str, payload: Any) -> Any:
        asked = payload if isinstance(payload, dict) else {}
        owner = asked.get("execution", "")
        run_id, message_id = asked.get("run") or _run_of(owner), owner.rpartition("#")[2]
        if _strikes("dies-before-act", message_id):
            # What acted without its mark is another fault's case.
            with _unmarked:
                _unmarked.wait_for(lambda: not _acting[run_id])
                _end_execution(run_id)
        with _unmarked:
            _refuse_the_dead(run_id)
            _acting[run_id] += 1
        answer = call(function, payload)
        if _strikes("dies-after-act", message_id):
            _end_execution(run_id)
            _refuse_the_dead(run_id)
        return answer

    stepfunctions._call_lambda = call_and_die


def _watch_states() -> None:
    for kind in ("pass", "task", "choice", "wait", "map"):
        name = f"_execute_{kind}"
        setattr(stepfunctions, name, _noted(getattr(stepfunctions, name), kind.title()))

    run = stepfunctions._run_execution

    def run_and_note(arn: str) -> None:
        started = time.time()
        run(arn)
        execution = stepfunctions._executions[arn]
        tasks = [event for event in execution["events"] if event["type"] in TASK_EVENTS]
        _count_data(arn, "input", json.loads(execution["input"]))
        _count_data(arn, "output", json.loads(execution["output"]))
        for event in tasks:
            if event["type"] == "TaskSucceeded":
                _count_data(arn, "output", json.loads(event["taskSucceededEventDetails"]["output"]))
        _note(
            kind="execution",
            status=execution["status"],
            seconds=round(time.time() - started, 3),
            inputBytes=len(execution["input"].encode()),
            dataBytes=_data.pop(arn),
            states=_states.pop(arn, []),
            tasks=[_task(event) for event in tasks],
        )

    stepfunctions._run_execution = run_and_note


def _watch_data() -> None:
    """Counts what states assign and ask for, and lets results carry what the SDK adds on AWS."""
    assign = stepfunctions._apply_state_assign
    argue = stepfunctions._apply_jsonata_arguments
    invoke = stepfunctions._invoke_resource

    def assign_and_count(state: Any, given: Any, context: Any, **seen: Any) -> None:
        assign(state, given, context, **seen)
        if assigned := {name: context["variables"][name] for name in state.get("Assign", {})}:
            _count_data(context["Execution"]["Id"], "assignedVariables", assigned)

    def argue_and_count(state: Any, given: Any, context: Any) -> Any:
        parameters = argue(state, given, context)
        _count_data(context["Execution"]["Id"], "parameters", parameters)
        return parameters

    def invoke_with_metadata(resource: str, given: Any) -> Any:
        answer = invoke(resource, given)
        is_sdk = resource.partition(":::")[2].startswith(_SDK_RESULTS)
        return {**answer, **machine_log.SDK_METADATA} if is_sdk else answer

    stepfunctions._apply_state_assign = assign_and_count
    stepfunctions._apply_jsonata_arguments = argue_and_count
    stepfunctions._invoke_resource = invoke_with_metadata


def _count_data(arn: str, name: str, value: Any) -> None:
    added = machine_log.data_bytes(name, value)
    with _lock:
        _data[arn] += added


def _noted(execute: Any, kind: str) -> Any:
    def noted(state: Any, given: Any, *rest: Any) -> Any:
        context = rest[-1]
        index = context.get("Map", {}).get("Item", {}).get("Index")
        entry = [kind, context["State"]["Name"], index]
        arn = context["Execution"]["Id"]
        with _lock:
            _states.setdefault(arn, []).append(entry)
        _count_data(arn, "input", given)
        output, following = execute(state, given, *rest)
        _count_data(arn, "output", output)
        return output, following

    return noted


def _task(event: dict[str, Any]) -> list[str]:
    details = next(v for k, v in event.items() if k.endswith("EventDetails"))
    return [event["type"], details["resource"], details.get("error", "")]


if __name__ == "__main__":
    SEEN.touch()
    server.put_right()
    _watch_store()
    _watch_functions()
    _watch_states()
    _watch_data()
    if "PROBE_FIFO_SECONDS" in os.environ:
        # FIFO's five minutes, shortened with the streams' own time.
        sqs._DEDUP_WINDOW_S = float(os.environ["PROBE_FIFO_SECONDS"])
    app.main()
