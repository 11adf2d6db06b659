"""Every role may do what is asked of it and nothing else, read from the ASL, the code and the pipe.

What a role needs is found where it is used; only what AWS's documentation says, and no file of ours
shows, is written down here.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore import xform_name
from once_data_action import breaker_row

from proof.aws.checks.states_logs_are_delivered import NEEDED as LOG_DELIVERY
from proof.definition.asl import ASL_PATH, ROOT, definition, states
from proof.template import RESOURCES, decided, of_type, statements_of

Right = tuple[str, str]  # IAM action, and the resource as text

# Where the IAM action is not called like the API's.
IAM_ACTIONS = {
    "lambda:Invoke": "lambda:InvokeFunction",
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
}
# The field of a task that names what it works on.
TARGETS = ("TableName", "FunctionName", "QueueUrl", "LogGroupName")
# What a pipe does with a queue, eventbridge "Permissions for Amazon EventBridge Pipes".
PIPE_READS_QUEUE = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}
# What each may do with a key of your own: SQS wants Decrypt of who receives, and GenerateDataKey
# too of who sends; DynamoDB Decrypt of who reads or writes; S3 GenerateDataKey of who puts an
# object, Decrypt of who gets one.
KEY_USE = {
    "PipeRole": {"kms:Decrypt"},
    "EnrichmentRole": {"kms:GenerateDataKey"},
    "StateMachineRole": {"kms:Decrypt", "kms:GenerateDataKey"},
    "DataActionRole": {"kms:Decrypt"},
    "PacingRole": {"kms:Decrypt"},
}
# With another key than now for what still waits: only those who read.
FORMER_KEY_USERS = {"PipeRole", "StateMachineRole", "DataActionRole", "PacingRole"}
# The key of the secret, whichever it is: tests/test_deployments.py has the condition on it.
SECRETS_KEY = "arn:${AWS::Partition}:kms:${AWS::Region}:Owner:key/*"
FUNCTIONS = {
    "EnrichmentRole": ("EnrichmentFunction", "enrichment"),
    "DataActionRole": ("DataActionFunction", "data_action"),
    "PacingRole": ("PacingFunction", "pacing"),
}
OPTIONS = (
    {"CreatesTable", "HasKey", "HasSecret"},
    {"CreatesTable", "HasKey", "HasFormerKey", "HasSecret", "OwnAction"},
    {"CreatesTable", "HasFormerKey", "HasTargetBus"},
    {"CreatesTable"},
    set[str](),
)
# Of a table that was there before the stack: what a role is granted, where others name it.
THEIR_TABLE = "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/ClaimTableName"


def text(resource: Any) -> str:
    """GetAtt and the Ref of an ARN alike, as `Name`; a pattern below it as `Name/*`."""
    if "GetAtt" in resource:
        return str(resource["GetAtt"]).removesuffix(".Arn")
    if "Sub" in resource:
        pattern = resource["Sub"] if isinstance(resource["Sub"], str) else resource["Sub"][0]
        return re.sub(r"\$\{(\w+)(\.Arn)?\}", r"\1", pattern)
    return str(resource["Ref"])


def granted(role: str, true: set[str]) -> set[Right]:
    rights = set()
    for statement in statements_of(role, true=true):
        assert statement["Effect"] == "Allow"
        actions = statement["Action"]
        resource = statement["Resource"]
        for action in [actions] if isinstance(actions, str) else actions:
            rights.add((action, resource if resource == "*" else text(resource)))
    return rights


def used_by_machine(true: set[str]) -> Iterator[Right]:
    machine = RESOURCES["StateMachine"]["Properties"]
    placeholders = decided(machine["DefinitionSubstitutions"], true=true)
    raw = states(definition({name: f"${{{name}}}" for name in placeholders}))
    for task in (state for state in raw.values() if state["Type"] == "Task"):
        service, action = task["Resource"].split(":::")[1].rsplit(":", 1)
        service = service.removeprefix("aws-sdk:").replace("cloudwatchlogs", "logs")
        name = f"{service}:{action[0].upper()}{action[1:]}"
        (target,) = [task["Arguments"][field] for field in TARGETS if field in task["Arguments"]]
        resource = text(placeholders[target.strip("${}")])
        yield IAM_ACTIONS.get(name, name), resource.replace("ClaimTableName", THEIR_TABLE)
    assert machine["Logging"]["Destinations"]
    yield from ((action, "*") for action in LOG_DELIVERY)


def used_by_pipe() -> Iterator[Right]:
    pipe = RESOURCES["Pipe"]["Properties"]
    target = pipe["TargetParameters"]["StepFunctionStateMachineParameters"]
    yield from ((action, text(pipe["Source"])) for action in PIPE_READS_QUEUE)
    yield "lambda:InvokeFunction", text(pipe["Enrichment"])
    assert target["InvocationType"] == "REQUEST_RESPONSE"
    yield "states:StartSyncExecution", text(pipe["Target"])


def used_by_function(role: str, true: set[str]) -> Iterator[Right]:
    function, package = FUNCTIONS[role]
    resources = {
        "dynamodb": "ClaimTable" if "CreatesTable" in true else THEIR_TABLE,
        "events": "TargetBusArn",
        "s3": "OverflowBucket/*",
        "secretsmanager": "DestinationSecretArn",
        "sqs": "EventQueue",
    }
    optional = {"secretsmanager": "HasSecret", "events": "HasTargetBus"}
    for service, operation in aws_calls(ROOT / "functions" / package / f"once_{package}"):
        if service not in optional or optional[service] in true:
            name = f"{service}:{operation}"
            yield IAM_ACTIONS.get(name, name), resources[service]
    if role == "DataActionRole":  # or S3 would not say that an object is gone
        yield "s3:ListBucket", "OverflowBucket"
        if "HasSecret" in true:
            yield "kms:Decrypt", SECRETS_KEY
    log_group = RESOURCES[function]["Properties"]["LoggingConfig"]["LogGroup"]
    for action in ("logs:CreateLogStream", "logs:PutLogEvents"):
        yield action, text(log_group)


def aws_calls(package: Path) -> set[tuple[str, str]]:
    """Service and operation of every call on a boto3 client in the package."""
    calls = [
        node
        for source in sorted(package.glob("*.py"))
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Call)
    ]
    # Called at once, or handed over to be called.
    methods = [method for call in calls for method in (call.func, *call.args[:1])]
    called = {method.attr for method in methods if isinstance(method, ast.Attribute)}
    services = {
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in ("client", "resource")
        and call.args
        and isinstance(call.args[0], ast.Constant)
    }
    loader = botocore.session.get_session()
    found = {
        (str(service), operation)
        for service in services
        for operation in loader.get_service_model(str(service)).operation_names
        if xform_name(operation) in called
    }
    assert {service for service, _ in found} == services, "a client that is made and never used"
    return found


def used(role: str, true: set[str]) -> set[Right]:
    rights = {
        "PipeRole": lambda: set(used_by_pipe()),
        "StateMachineRole": lambda: set(used_by_machine(true)),
    }.get(role, lambda: set(used_by_function(role, true)))()
    if "HasKey" in true:
        rights |= {(action, "KmsKeyArn") for action in KEY_USE[role]}
    if "HasFormerKey" in true and role in FORMER_KEY_USERS:
        rights.add(("kms:Decrypt", "FormerKmsKeyArn"))
    return rights


@pytest.mark.parametrize("true", OPTIONS, ids=lambda true: "+".join(sorted(true)) or "none")
@pytest.mark.parametrize("role", of_type("AWS::IAM::Role"))
def test_a_role_may_do_what_it_does_and_nothing_more(role: str, true: set[str]) -> None:
    assert granted(role, true) == used(role, true)


def test_the_machine_deletes_no_claim() -> None:
    assert not any(
        action == "dynamodb:DeleteItem" for action, _ in granted("StateMachineRole", OPTIONS[0])
    )


@pytest.mark.parametrize("role", FUNCTIONS)
def test_no_function_can_touch_a_claim(role: str) -> None:
    """Its partition keys have slashes, so no event can make up one that is written in words.

    dynamodb, "Using IAM policy conditions for fine-grained access control": LeadingKeys; IAM,
    "Multivalued context keys": ForAllValues holds for no value as well, hence the Null.
    """
    tables = [
        statement
        for statement in statements_of(role, true=set())
        if any(str(action).startswith("dynamodb:") for action in statement["Action"])
    ]
    wanted = {
        "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [breaker_row.KEY["pk"]["S"]]},
        "Null": {"dynamodb:LeadingKeys": "false"},
    }
    assert "/" not in breaker_row.KEY["pk"]["S"]
    assert [statement["Condition"] for statement in tables] == (
        [] if role == "EnrichmentRole" else [wanted]
    )


def test_the_code_is_read_as_it_is_written() -> None:
    """Should the search for calls go blind, the comparison above would prove nothing."""
    assert aws_calls(ROOT / "functions/data_action/once_data_action") == {
        ("dynamodb", "DeleteItem"),
        ("dynamodb", "GetItem"),
        ("dynamodb", "UpdateItem"),
        ("events", "DescribeEventBus"),
        ("events", "PutEvents"),
        ("s3", "GetObject"),
        ("secretsmanager", "GetSecretValue"),
    }
    assert aws_calls(ROOT / "functions/enrichment/once_enrichment") == {("s3", "PutObject")}
    assert aws_calls(ROOT / "functions/pacing/once_pacing") == {
        ("dynamodb", "DeleteItem"),
        ("dynamodb", "GetItem"),
        ("dynamodb", "UpdateItem"),
        ("sqs", "ChangeMessageVisibilityBatch"),
        ("sqs", "GetQueueAttributes"),
    }


def test_every_placeholder_that_names_a_resource_is_a_target_of_some_task() -> None:
    raw = ASL_PATH.read_text()
    for name in (
        "ClaimTable",
        "ParkingQueueUrl",
        "DataActionFunction",
        "PacingFunction",
        "OutcomeLogGroup",
    ):
        assert re.search(rf"({'|'.join(TARGETS)}): \${{{name}}}", raw), name


def test_each_role_is_assumed_by_one_service_for_this_account() -> None:
    principals = {"PipeRole": "pipes", "StateMachineRole": "states"}
    for role in of_type("AWS::IAM::Role"):
        (trust,) = RESOURCES[role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        service = principals.get(role, "lambda")
        assert trust["Principal"] == {"Service": f"{service}.amazonaws.com"}
        # Lambda assumes a role only for a function that names it; it sends no source to check.
        assert ("Condition" in trust) == (service != "lambda")
