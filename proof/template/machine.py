"""Checks the state machine's definition for what AWS refuses, or does differently."""

import re
from collections.abc import Iterator
from typing import Any

import botocore.session
import yaml
from moto.dynamodb.parsing.reserved_keywords import ReservedKeywords
from once_data_action import errors

from proof.asl.errors import matches
from proof.asl.jsonata import Clock, Library
from proof.asl.readings import Readings
from proof.template.check import GITHUB, RECORDED, Deployed, Edit, check
from proof.template.metrics import NOW_MS


def _argument(action: str, name: str, value: Any) -> Edit:
    """Sets an argument of the first task that calls `action`."""
    return lambda deployed: deployed.task(action)["Arguments"].update({name: value})


def _expressions(task: dict[str, Any]) -> dict[str, str]:
    """Returns DynamoDB's expressions of a task by their field."""
    return {name: text for name, text in task["Arguments"].items() if name.endswith("Expression")}


def _written_in_milliseconds(deployed: Deployed) -> None:
    item = deployed.task("putItem")["Arguments"]["Item"]
    item["expires_at"] = {"N": "{% $string($millis() + 86400000) %}"}


@check(
    "amazondynamodb/latest/developerguide/time-to-live-ttl-before-you-start.html",
    milliseconds=_written_in_milliseconds,
)
def expiry_is_in_seconds(deployed: Deployed) -> Iterator[str]:
    """DynamoDB removes rows by epoch seconds. A number in milliseconds is never reached."""
    for name, task in deployed.tasks.items():
        for value in _expiries(task["Arguments"]):
            text = value["N"].removeprefix("{%").removesuffix("%}")
            seconds = float(str(Library().evaluate(text, {}, Clock(NOW_MS))))
            if not 0 <= seconds - NOW_MS / 1_000 <= 5 * 366 * 86_400:
                yield f"{name} takes {seconds:.0f} for a time of expires_at"


def _expiries(arguments: dict[str, Any]) -> Iterator[dict[str, str]]:
    if "expires_at" in arguments.get("Item", {}):
        yield arguments["Item"]["expires_at"]
    for field, text in arguments.items():
        if field.endswith("Expression"):
            for word in re.findall(r"\bexpires_at\s*[<>=]+\s*(:\w+)", text):
                yield arguments["ExpressionAttributeValues"][word]


def _missing(deployed: Deployed) -> None:
    deployed.task("putItem")["Arguments"]["ExpressionAttributeValues"].popitem()


@check(
    "amazondynamodb/latest/APIReference/API_UpdateItem.html",
    # An unused value is a ValidationException on AWS; moto took it.
    f"{GITHUB}getmoto/moto/issues/8676",
    unused=_argument("putItem", "ConditionExpression", "attribute_not_exists(pk)"),
    missing=_missing,
)
def placeholders_are_used_and_defined(deployed: Deployed) -> Iterator[str]:
    """Each alias and each value of a call is used in one of its expressions, and what they use is
    given."""
    for name, task in deployed.tasks.items():
        used = set(re.findall(r"[#:]\w+", " ".join(_expressions(task).values())))
        fields = ("ExpressionAttributeNames", "ExpressionAttributeValues")
        given = {word for field in fields for word in task["Arguments"].get(field, {})}
        for word in sorted(used ^ given):
            yield f"{name}: {word} is {'missing' if word in used else 'unused'}"


@check(
    "amazondynamodb/latest/developerguide/ReservedWords.html",
    status=_argument("putItem", "ConditionExpression", "status = :done"),
)
def reserved_words_have_aliases(deployed: Deployed) -> Iterator[str]:
    """A name that is one of DynamoDB's 573 reserved words stands in an expression only as an alias:
    status, owner, name, time, ttl. Some emulators know no reserved words."""
    grammar = {"SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN"}
    reserved = {word.upper() for word in ReservedKeywords.get_reserved_keywords()} - grammar
    for name, task in deployed.tasks.items():
        for field, text in _expressions(task).items():
            for word in re.findall(r"(?<![#:\w])[A-Za-z_]\w*", text):
                if word.upper() in reserved:
                    yield f"{name}, {field}: {word} is reserved"


_BOTO = {
    "dynamodb": "dynamodb",
    "sqs": "sqs",
    "lambda": "lambda",
    "aws-sdk:cloudwatchlogs": "logs",
}


def _pascal(name: str) -> str:
    return name[0].upper() + name[1:]


def _misspelt_delay(deployed: Deployed) -> None:
    arguments = deployed.task("sendMessage", "DelaySeconds")["Arguments"]
    arguments["DelaySecond"] = arguments.pop("DelaySeconds")


@check(
    "step-functions/latest/dg/supported-services-awssdk.html",
    "step-functions/latest/dg/connect-sqs.html",
    # An unknown parameter of SendMessage was dropped without an error.
    f"{RECORDED}services/test_sqs_task_service.snapshot.json",
    delay=_misspelt_delay,
    camel_case=_argument("putLogEvents", "logGroupName", "outcomes"),
)
def arguments_are_those_of_the_api(deployed: Deployed) -> Iterator[str]:
    """A task's Arguments are the members of its API in PascalCase. SendMessage drops any other: a
    misspelt DelaySeconds would bring a waiting event back without end."""
    session = botocore.session.get_session()
    for name, task in deployed.tasks.items():
        integration, _, action = task["Resource"].split(":::")[1].rpartition(":")
        model = session.get_service_model(_BOTO[integration])
        shape = model.operation_model(_pascal(action)).input_shape
        assert shape is not None
        for unknown in sorted(set(task["Arguments"]) - {*map(_pascal, shape.members)}):
            yield f"{name}: {action} has no {unknown}"
        for missing in sorted({*map(_pascal, shape.required_members)} - set(task["Arguments"])):
            yield f"{name}: {action} needs {missing}"


def _alias(deployed: Deployed) -> None:
    deployed.definition_text += "\nA: &x 1\nB: *x\n"


@check(
    "AWSCloudFormation/latest/TemplateReference/aws-resource-stepfunctions-statemachine.html",
    f"{GITHUB}aws-cloudformation/aws-cloudformation-resource-providers-stepfunctions",
    alias=_alias,
)
def definition_has_no_anchors(deployed: Deployed) -> Iterator[str]:
    """CloudFormation's reader of YAML resolves no anchors and no aliases."""
    for event in yaml.parse(deployed.definition_text):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            yield f"line {event.start_mark.line + 1} has an anchor or refers to one"


_STATES = {"ALL", "DataLimitExceeded", "HeartbeatTimeout", "Permissions", "TaskFailed", "Timeout"}
# By integration: its prefix, and the errors that are documented or were recorded.
_RAISED: dict[str, tuple[str, set[str]]] = {
    "dynamodb": (
        "DynamoDB",
        {
            "AmazonDynamoDBException",
            "ConditionalCheckFailedException",
            "ResourceNotFoundException",
            "SdkClientException",
        },
    ),
    "lambda": (
        "Lambda",
        {
            "AWSLambdaException",
            "ClientExecutionTimeoutException",
            "SdkClientException",
            "ServiceException",
            "TooManyRequestsException",
            "Unknown",
        },
    ),
    "sqs": ("SQS", {"AmazonSQSException", "SdkClientException"}),
    "aws-sdk:cloudwatchlogs": ("CloudWatchLogs", {"CloudWatchLogsException"}),
}
# The Python runtime names them if it cannot load the code: bootstrap.py of its interface client.
_NOT_LOADED = {
    "Runtime.ImportModuleError",
    "Runtime.HandlerNotFound",
    "Runtime.MalformedHandlerName",
    "Runtime.UserCodeSyntaxError",
}


def _caught(error: str) -> Edit:
    def edit(deployed: Deployed) -> None:
        deployed.task("putItem")["Catch"][0]["ErrorEquals"] = [error]

    return edit


@check(
    "step-functions/latest/dg/connect-ddb.html",
    "step-functions/latest/dg/concepts-error-handling.html",
    "step-functions/latest/dg/sfn-best-practices.html",
    # A ValidationException came as DynamoDB.AmazonDynamoDBException.
    f"{RECORDED}error_handling/test_task_service_dynamodb.snapshot.json",
    f"{GITHUB}aws/aws-sdk-java/issues/2222",
    f"{GITHUB}aws/aws-lambda-python-runtime-interface-client/issues/43",
    prefix_of_aws_sdk=_caught("DynamoDb.ConditionalCheckFailedException"),
    code_without_class=_caught("DynamoDB.ThrottlingException"),
    runtime=_caught("States.Runtime"),
    error_of_the_function=_caught("Transient"),
)
def error_names_are_those_that_come(deployed: Deployed) -> Iterator[str]:
    """An optimised integration names the class of the Java SDK v1, an aws-sdk one that of v2, with
    other capitals. A Retry or a Catch of a name that never comes is silently skipped."""
    ours = {name for name, kind in vars(errors).items() if isinstance(kind, type)}
    for name, state in deployed.states.items():
        come = {f"States.{error}" for error in _STATES}
        if state["Type"] == "Task":
            integration = state["Resource"].split(":::")[1].rpartition(":")[0]
            prefix, known = _RAISED[integration]
            come |= {f"{prefix}.{error}" for error in known}
            come |= ours | _NOT_LOADED if integration == "lambda" else set()
        for rule in (*state.get("Retry", []), *state.get("Catch", [])):
            for error in sorted(set(rule["ErrorEquals"]) - come):
                yield f"{name}: {error} is not known to come from here"


def _refusal_retried(deployed: Deployed) -> None:
    del deployed.task("putItem")["Retry"][0]


@check("step-functions/latest/dg/concepts-error-handling.html", retried=_refusal_retried)
def refusal_is_not_retried(deployed: Deployed) -> Iterator[str]:
    """Retriers come before catchers, and States.TaskFailed matches a refused condition: a retrier
    of its own, without attempts, takes it out."""
    refused = "DynamoDB.ConditionalCheckFailedException"
    for name, task in deployed.tasks.items():
        if "ConditionExpression" in task["Arguments"]:
            matching = [r for r in task["Retry"] if matches(r["ErrorEquals"], refused, Readings())]
            if matching and matching[0].get("MaxAttempts", 3):
                yield f"{name} retries a refused condition"
