"""Starts ministack with what AWS does otherwise put right: the name of a Lambda's error, its
throttling, the description of a pipe, a definition in YAML, which rights a request needs, an
archive in a template, and an alarm on several metrics. And it logs the states that an execution
enters, and parses each JSONata expression only once.
"""

import copy
import json
import threading
from http import HTTPStatus
from typing import Any

import yaml  # type: ignore[import-untyped]
from ministack import app  # type: ignore[import-untyped]
from ministack.core import iam_actions, lambda_runtime  # type: ignore[import-untyped]
from ministack.services import (  # type: ignore[import-untyped]
    dynamodb,
    eventbridge,
    lambda_svc,
    pipes,
    stepfunctions,
)
from ministack.services.cloudformation import provisioners  # type: ignore[import-untyped]

from once.embedded import execution_log

_Answer = dict[str, Any]
_RAISED = "__raised__"
_CRASHES = {"Worker process died", "Worker returned no response"}
# Every environment is a Python process: with one per concurrent event, as on AWS, a burst would
# spend its first seconds starting interpreters.
_ENVIRONMENTS_PER_FUNCTION = 16


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
    slots: dict[str, threading.Semaphore] = {}

    def execute_and_name(function: _Answer, event: Any, request_id: str) -> _Answer:
        name = (function.get("config") or function).get("FunctionName", "")
        with slots.setdefault(name, threading.Semaphore(_ENVIRONMENTS_PER_FUNCTION)):
            answer: _Answer = execute(function, event, request_id)
        body = answer.get("body")
        if isinstance(body, dict) and _RAISED in body:
            return answer | {"body": body[_RAISED], "error": True}
        if isinstance(body, dict) and body.get("errorMessage") in _CRASHES:
            body["errorType"] = "Runtime.ExitError"
        return answer

    def throttle_and_name(*args: Any, **kwargs: Any) -> _Answer:
        answer: _Answer = throttle(*args, **kwargs)
        answer["body"]["errorType"] = "Lambda.TooManyRequestsException"
        return answer

    lambda_svc._execute_function_warm = execute_and_name
    lambda_svc._throttle_response = throttle_and_name


def _remember_whole_pipes() -> None:
    """ministack keeps neither a pipe's enrichment nor its parameters."""
    kept = ("Enrichment", "EnrichmentParameters", "SourceParameters", "TargetParameters")
    handlers = provisioners._RESOURCE_HANDLERS["AWS::Pipes::Pipe"]
    create, update, describe = handlers["create"], handlers["update"], pipes._describe_response

    def remember(created: tuple[str, Any], properties: _Answer) -> tuple[str, Any]:
        pipes._pipes[created[0]].update({k: properties[k] for k in kept if k in properties})
        return created

    def create_whole(logical_id: str, properties: _Answer, stack: str) -> tuple[str, Any]:
        return remember(create(logical_id, properties, stack), properties)

    def update_whole(
        physical_id: str, old: _Answer, new: _Answer, stack: str, logical_id: str | None = None
    ) -> tuple[str, Any]:
        return remember(update(physical_id, old, new, stack, logical_id), new)

    def describe_whole(pipe: _Answer) -> _Answer:
        return {**describe(pipe), **{k: pipe[k] for k in kept if k in pipe}}

    handlers.update(create=create_whole, update=update_whole)
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


def _ask_for_the_rights_of_aws() -> None:
    """ministack leaves LeadingKeys out of a request's condition keys, asks for a right of each
    batch's own, and takes a bus for the resource where a request names its rule as Rule. On AWS a
    request on items has the values of their partition keys there, SQS's batch actions need the
    right to the single one, and ListTargetsByRule is about the rule.

    docs.aws.amazon.com: DynamoDB, "Using IAM policy conditions for fine-grained access control";
    SQS, "Amazon SQS API permissions: Actions and resource reference"; Service Authorization
    Reference, "Actions, resources, and condition keys for Amazon EventBridge".
    """
    resource = iam_actions.extract_resource_arn
    context, action = iam_actions.dynamodb_service_context, iam_actions.extract_iam_action

    def context_with_keys(body: bytes) -> _Answer:
        known: _Answer = context(body)
        asked = json.loads(body or b"{}")
        item = asked.get("Key") or asked.get("Item") or {}
        table = dynamodb._tables.get(str(asked.get("TableName")).rpartition("/")[2])
        key = item.get(table["pk_name"]) if table else None
        return known | ({"dynamodb:LeadingKeys": list(key.values())} if key else {})

    def single_action(service: str, *request: Any) -> str | None:
        named: str | None = action(service, *request)
        return named.removesuffix("Batch") if named and service == "sqs" else named

    def resource_with_rule(
        service: str, method: str, path: str, headers: _Answer, body: bytes, *more: Any
    ) -> Any:
        asked = json.loads(body or b"{}") if service == "events" else {}
        if "Rule" in asked:
            body = json.dumps({**asked, "Name": asked["Rule"]}).encode()
        return resource(service, method, path, headers, body, *more)

    iam_actions.extract_resource_arn = resource_with_rule
    iam_actions.dynamodb_service_context = context_with_keys
    iam_actions.extract_iam_action = single_action


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
        asked = {
            **properties,
            "ArchiveName": name,
            "EventSourceArn": properties["SourceArn"],
            "EventPattern": json.dumps(properties["EventPattern"]),
            "RetentionDays": int(properties["RetentionDays"]),
        }
        status, _, body = eventbridge._create_archive(asked)
        said = json.loads(body)
        if status != HTTPStatus.OK:
            raise ValueError(f"The archive {name}: {said}")
        return name, {"Arn": said["ArchiveArn"]}

    def delete(physical_id: str, _: _Answer) -> None:
        eventbridge._delete_archive({"ArchiveName": physical_id})

    provisioners._RESOURCE_HANDLERS["AWS::Events::Archive"] = {"create": create, "delete": delete}


def _parse_each_expression_once() -> None:
    """Parsing for each evaluation was half of all that an execution cost here."""
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


def put_right() -> None:
    _name_lambda_errors()
    _remember_whole_pipes()
    _read_definitions_in_yaml()
    _ask_for_the_rights_of_aws()
    _keep_alarms_on_metric_math()
    _create_archives_of_templates()
    _parse_each_expression_once()
    execution_log.write_what_is_entered()


if __name__ == "__main__":
    put_right()
    app.main()
