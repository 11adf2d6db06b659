"""Starts ministack with what AWS does otherwise put right: the name of a Lambda's error, its
throttling, conditional writes, the description of a pipe, a definition in YAML, an archive in a
template, and an alarm on several metrics. And it logs the states that an execution enters, counts
received messages, counts records in logs, begins executions immediately, and keeps parsed JSONata.
"""

import copy
import json
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

import yaml
from ministack import app
from ministack.core import lambda_runtime
from ministack.services import (
    dynamodb,
    eventbridge,
    lambda_svc,
    pipes,
    stepfunctions,
)
from ministack.services.cloudformation import provisioners

from once.local import logs_and_metrics
from once.local.guard import guard
from once.ports import is_key

_Answer = dict[str, Any]
_RAISED = "__raised__"
_NOT_IMPORTED = "Worker init failed"
_CRASHES = {"Worker process died", "Worker returned no response"}
# Every environment is a Python process: with one per concurrent event, as on AWS, a burst would
# spend its first seconds starting interpreters.
_ENVIRONMENTS_PER_FUNCTION = 16
_FIRST_ENVIRONMENTS = os.cpu_count() or 1
_WAIT_SECONDS = 2.0  # for one of the first, until another is started
_SLEEP_BEFORE_EXECUTIONS = 0.15


def put_right() -> None:
    _name_lambda_errors()
    _start_first_environments()
    _start_few_environments()
    _begin_executions_immediately()
    _write_rows_one_at_a_time()
    _remember_whole_pipes()
    _read_definitions_in_yaml()
    _keep_alarms_on_metric_math()
    _create_archives_of_templates()
    _parse_each_expression_once()
    logs_and_metrics.log_executions()
    logs_and_metrics.count_receives()
    logs_and_metrics.answer_counts()


def serve(is_known: Callable[[str], bool] | None = None) -> None:
    """Serves callers who have the key of this start, or one that `is_known`."""
    is_known = is_known or partial(is_key, key=os.environ["AWS_SESSION_TOKEN"])
    host = f"{os.environ['BIND_HOST']}:{os.environ['GATEWAY_PORT']}"
    app.app = guard(app.app, host, is_known)
    app.main()


def _name_lambda_errors() -> None:
    """ministack calls every error `Runtime.HandlerError` and starts the function again after it.

    On AWS the error has the name of its class, and the environment lives on with what it cached.
    """
    script = lambda_runtime._PYTHON_WORKER_SCRIPT
    theirs = '{"status": "error", "error": str(e), "trace": traceback.format_exc()}'
    ours = f"""{{"status": "ok", "result": {{"{_RAISED}": {{
                "errorMessage": str(e), "errorType": type(e).__name__,
                "requestId": _ms_ctx.get("request_id", ""),
                "stackTrace": traceback.format_tb(e.__traceback__)}}}}}}"""
    if script.count(theirs) != 1:
        raise SystemExit("This ministack runs Python functions in another way than 1.5.33.")
    lambda_runtime._PYTHON_WORKER_SCRIPT = script.replace(
        theirs, f"(traceback.print_exc(), {ours})[1]"
    )

    execute = lambda_svc._execute_function_warm
    throttle = lambda_svc._throttle_response

    not_imported: dict[str, _Answer] = {}

    def execute_and_name(function: _Answer, event: Any, request_id: str) -> _Answer:
        answer: _Answer = execute(function, event, request_id)
        body = answer.get("body")
        if isinstance(body, dict) and _RAISED in body:
            return answer | {"body": body[_RAISED], "error": True}
        if isinstance(body, dict) and "errorMessage" in body:
            message = str(body["errorMessage"])
            deployed = str(function["config"].get("RevisionId"))
            if message in _CRASHES:
                body["errorType"] = "Runtime.ExitError"
            elif message.startswith(_NOT_IMPORTED):
                body["errorType"] = "Runtime.ImportModuleError"
                answer["log"] = message
                not_imported[deployed] = answer
            elif deployed in not_imported:
                # A code that cannot be loaded also ends the start that other requests wait for.
                return {**not_imported[deployed]}
        return answer

    def throttle_and_name(*args: Any, **kwargs: Any) -> _Answer:
        answer: _Answer = throttle(*args, **kwargs)
        answer["body"]["errorType"] = "Lambda.TooManyRequestsException"
        return answer

    lambda_svc._execute_function_warm = execute_and_name
    lambda_svc._throttle_response = throttle_and_name


def _start_first_environments() -> None:
    """Starts an environment of each function that is deployed, as Lambda itself may do.

    docs.aws.amazon.com/lambda, "Understanding the Lambda execution environment lifecycle".
    """
    handlers = provisioners._RESOURCE_HANDLERS["AWS::Lambda::Function"]
    create = handlers["create"]

    def create_and_start(logical_id: str, properties: _Answer, stack: str) -> tuple[str, Any]:
        created: tuple[str, Any] = create(logical_id, properties, stack)
        function = lambda_svc._functions[created[0]]
        if function["code_zip"]:
            threading.Thread(target=start, args=(created[0], function), daemon=True).start()
        return created

    def start(name: str, function: _Answer) -> None:
        worker, _ = lambda_runtime.acquire_worker(name, function["config"], function["code_zip"])
        try:
            lambda_runtime.ensure_spawned(worker)
        except (RuntimeError, OSError):
            worker.kill()  # it cannot be imported, as each invocation will say
        finally:
            lambda_runtime.release_worker(worker)

    handlers["create"] = create_and_start


def _start_few_environments() -> None:
    """Lets a burst wait for the first environments, which answer sooner than it could start more.

    Events that a slow destination keeps waiting get environments of their own, one after another:
    started together, they would delay each other and all requests.
    """
    acquire, turn = lambda_svc.acquire_worker, threading.Lock()

    def acquire_patiently(name: str, config: _Answer, code: bytes, **more: Any) -> Any:
        until = time.monotonic() + _WAIT_SECONDS
        key = lambda_runtime._worker_key(name, config, more.get("qualifier", "$LATEST"))
        while True:
            with turn:
                workers = list(lambda_runtime._workers.get(key, ()))
                is_starting = any(worker.in_use and worker._cold for worker in workers)
                has_waited = time.monotonic() >= until and not is_starting
                most = _ENVIRONMENTS_PER_FUNCTION if has_waited else _FIRST_ENVIRONMENTS
                if len(workers) < most or not all(worker.in_use for worker in workers):
                    return acquire(name, config, code, **more)
            time.sleep(0.01)

    lambda_svc.acquire_worker = acquire_patiently


def _remember_whole_pipes() -> None:
    """ministack keeps neither a pipe's enrichment nor its parameters."""
    kept = ("Enrichment", "EnrichmentParameters", "SourceParameters", "TargetParameters")
    handlers = provisioners._RESOURCE_HANDLERS["AWS::Pipes::Pipe"]
    create, describe = handlers["create"], pipes._describe_response

    def create_whole(logical_id: str, properties: _Answer, stack: str) -> tuple[str, Any]:
        created: tuple[str, Any] = create(logical_id, properties, stack)
        pipes._pipes[created[0]].update({k: properties[k] for k in kept if k in properties})
        return created

    def describe_whole(pipe: _Answer) -> _Answer:
        return {**describe(pipe), **{k: pipe[k] for k in kept if k in pipe}}

    handlers["create"] = create_whole
    pipes._describe_response = describe_whole


def _read_definitions_in_yaml() -> None:
    """ministack starts no machine whose definition is YAML, which CloudFormation reads as well."""
    filled_in = provisioners._sfn_definition

    def in_json(properties: _Answer) -> str:
        text = filled_in(properties)
        try:
            return json.dumps(yaml.safe_load(text))
        except yaml.YAMLError as error:
            raise ValueError(f"The state machine's definition is no YAML: {error}") from None

    provisioners._sfn_definition = in_json


def _keep_alarms_on_metric_math() -> None:
    """ministack refuses a template with one. Here it is kept, and like the others not evaluated."""
    record = provisioners._cw_metric_alarm_record
    of_one_metric = ("Namespace", "MetricName", "Dimensions", "Statistic", "Period", "Unit")

    def record_all(name: str, properties: _Answer) -> _Answer:
        metrics = properties.get("Metrics")
        if not metrics:
            kept: _Answer = record(name, properties)
            return kept
        rest = {key: part for key, part in properties.items() if key != "Metrics"}
        alarm = record(name, {**rest, "Namespace": "none", "MetricName": "none"})
        return {
            **{key: part for key, part in alarm.items() if key not in of_one_metric},
            "Metrics": metrics,
        }

    provisioners._cw_metric_alarm_record = record_all


def _create_archives_of_templates() -> None:
    """ministack keeps archives and replays them, but its CloudFormation does not know the type."""

    def create(logical_id: str, properties: _Answer, stack: str) -> tuple[str, Any]:
        name = f"{stack}-{logical_id}"
        request = {
            **properties,
            "ArchiveName": name,
            "EventSourceArn": properties["SourceArn"],
            "EventPattern": json.dumps(properties["EventPattern"]),
            "RetentionDays": int(properties["RetentionDays"]),
        }
        status, _, body = eventbridge._create_archive(request)
        answer = json.loads(body)
        if status != HTTPStatus.OK:
            raise ValueError(f"The archive {name}: {answer}")
        return name, {"Arn": answer["ArchiveArn"]}

    def delete(physical_id: str, _: _Answer) -> None:
        eventbridge._delete_archive({"ArchiveName": physical_id})

    provisioners._RESOURCE_HANDLERS["AWS::Events::Archive"] = {"create": create, "delete": delete}


def _parse_each_expression_once() -> None:
    """Keeps parsed expressions: parsing them each time was half of what an execution cost here."""
    engine = stepfunctions.jsonata.Jsonata
    parse, parsed = engine.jsonata, {}

    def parse_once(expression: str, timeout: int | None = None) -> Any:
        if expression not in parsed:
            parsed[expression] = parse(expression, timeout=timeout)
        mine = copy.copy(parsed[expression])
        mine.environment = mine.create_frame(engine.static_frame)
        mine.environment.set_runtime_bounds(timeout, None)
        engine.CURRENT.jsonata = mine  # whose it is in this thread
        return mine

    engine.jsonata = staticmethod(parse_once)


def _begin_executions_immediately() -> None:
    """ministack sleeps before each execution, for as long as a simple event takes in all."""

    def sleep(seconds: float) -> None:
        if seconds != _SLEEP_BEFORE_EXECUTIONS:
            time.sleep(seconds)

    stepfunctions.time = SimpleNamespace(**{**vars(time), "sleep": sleep})


def _write_rows_one_at_a_time() -> None:
    """ministack reads a row, checks the condition and writes, in the thread of each execution: two
    that do so at the same time both pass. DynamoDB orders the writes of a row.
    """
    lock = threading.Lock()

    def alone(write: Callable[[_Answer], Any]) -> Callable[[_Answer], Any]:
        def write_alone(asked: _Answer) -> Any:
            with lock:
                return write(asked)

        return write_alone

    for name in ("_put_item", "_update_item", "_delete_item"):
        setattr(dynamodb, name, alone(getattr(dynamodb, name)))


if __name__ == "__main__":
    put_right()
    serve()
