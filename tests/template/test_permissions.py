"""Each role may do what is asked of it and nothing else, read from the ASL, the code and the pipe.

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

from proof.definition.asl import ASL_PATH, ROOT, definition, states
from proof.template import RESOURCES, decided, of_type, statements, statements_of
from proof.template.stack import LOG_DELIVERY

Permission = tuple[str, str]  # IAM action, and the resource as text

# Where the IAM action is not called like the API's.
IAM_ACTIONS = {"lambda:Invoke": "lambda:InvokeFunction"}
# The field of a task that names what it works on.
TARGETS = ("TableName", "FunctionName", "QueueUrl", "LogGroupName")
# What a pipe does with a queue: eventbridge, "Permissions for Amazon EventBridge Pipes".
PIPE_READS_QUEUE = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}
# What each does with a customer managed key: SQS wants Decrypt of a receiver, and GenerateDataKey
# too of a sender; DynamoDB Decrypt of a reader or writer. The enrichment touches nothing encrypted.
KEY_USE = {
    "PipeRole": {"kms:Decrypt"},
    "EnrichmentRole": set[str](),
    "StateMachineRole": {"kms:Decrypt", "kms:GenerateDataKey"},
    "DataActionRole": {"kms:Decrypt"},
}
# The key of the secret, whichever it is: test_keys.py has the condition on it.
SECRETS_KEY = "arn:${AWS::Partition}:kms:${AWS::Region}:Owner:key/*"
FUNCTIONS = {
    "EnrichmentRole": ("EnrichmentFunction", "enrichment"),
    "DataActionRole": ("DataActionFunction", "data_action"),
}
OPTIONS = (
    {"CreatesTable", "HasKey", "UsesKeys", "HasSecret"},
    {"CreatesTable", "HasKey", "HasFormerKey", "UsesKeys", "HasSecret"},
    {"CreatesTable", "HasFormerKey", "UsesKeys", "SendsToBus"},
    {"CreatesTable", "InvokesFunction"},
    set[str](),
)
THEIR_TABLE = "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/ClaimTableName"


def text(resource: Any) -> str:
    """Returns GetAtt and the Ref of an ARN alike, as `Name`; a pattern below it as `Name/*`."""
    if "GetAtt" in resource:
        return str(resource["GetAtt"]).removesuffix(".Arn")
    if "Sub" in resource:
        pattern = resource["Sub"] if isinstance(resource["Sub"], str) else resource["Sub"][0]
        return re.sub(r"\$\{(\w+)(\.Arn)?\}", r"\1", pattern)
    return str(resource["Ref"])


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def granted(role: str, true: set[str]) -> set[Permission]:
    return {
        (action, resource if resource == "*" else text(resource))
        for statement in statements_of(role, true=true)
        for action in as_list(statement["Action"])
        for resource in as_list(statement["Resource"])
    }


def used_by_machine(true: set[str]) -> Iterator[Permission]:
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


def used_by_pipe() -> Iterator[Permission]:
    pipe = RESOURCES["Pipe"]["Properties"]
    yield from ((action, text(pipe["Source"])) for action in PIPE_READS_QUEUE)
    yield "lambda:InvokeFunction", text(pipe["Enrichment"])
    yield "states:StartSyncExecution", text(pipe["Target"])


def used_by_function(role: str, true: set[str]) -> Iterator[Permission]:
    function, package = FUNCTIONS[role]
    resources = {
        "dynamodb": "ClaimTable" if "CreatesTable" in true else THEIR_TABLE,
        "events": "TargetArn",
        "lambda": "TargetArn",
        "secretsmanager": "DestinationSecretArn",
    }
    optional = {
        "secretsmanager": "HasSecret",
        "events": "SendsToBus",
        "lambda": "InvokesFunction",
    }
    for service, operation in aws_calls(ROOT / "functions" / package / f"once_{package}"):
        if service not in optional or optional[service] in true:
            name = f"{service}:{operation}"
            yield IAM_ACTIONS.get(name, name), resources[service]
    if role == "DataActionRole" and "HasSecret" in true:
        yield "kms:Decrypt", SECRETS_KEY
    log_group = RESOURCES[function]["Properties"]["LoggingConfig"]["LogGroup"]
    for action in ("logs:CreateLogStream", "logs:PutLogEvents"):
        yield action, text(log_group)


def aws_calls(package: Path) -> set[tuple[str, str]]:
    """Returns service and operation of every call on a boto3 client in the package.

    An operation is an attribute that is called, or handed over to be called, or a verb as text.
    """
    nodes = [
        node
        for source in sorted(package.glob("*.py"))
        for node in ast.walk(ast.parse(source.read_text()))
    ]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    methods = [method for call in calls for method in (call.func, *call.args[:1])]
    called = {method.attr for method in methods if isinstance(method, ast.Attribute)}
    called |= {node.value for node in nodes if isinstance(node, ast.Constant)}  # type: ignore[misc]
    services = {
        str(call.args[0].value)
        for call in calls
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in ("client", "resource")
        and call.args
        and isinstance(call.args[0], ast.Constant)
    }
    loader = botocore.session.get_session()
    found = {
        (service, operation)
        for service in services
        for operation in loader.get_service_model(service).operation_names
        if xform_name(operation) in called
    }
    assert {service for service, _ in found} == services, "a client that is made and never used"
    return found


def used(role: str, true: set[str]) -> set[Permission]:
    if role == "PipeRole":
        found = set(used_by_pipe())
    elif role == "StateMachineRole":
        found = set(used_by_machine(true))
    else:
        found = set(used_by_function(role, true))
    for condition, key in (("HasKey", "KmsKeyArn"), ("HasFormerKey", "FormerKmsKeyArn")):
        if condition in true:
            found |= {(action, key) for action in KEY_USE[role]}
    return found


@pytest.mark.parametrize("true", OPTIONS, ids=lambda true: "+".join(sorted(true)) or "none")
@pytest.mark.parametrize("role", of_type("AWS::IAM::Role"))
def test_a_role_may_do_what_it_does_and_nothing_more(role: str, true: set[str]) -> None:
    assert granted(role, true) == used(role, true)


def test_the_machine_deletes_no_claim_and_sends_to_both_queues() -> None:
    rights = granted("StateMachineRole", OPTIONS[0])
    assert not any(action == "dynamodb:DeleteItem" for action, _ in rights)
    sent_to = {resource for action, resource in rights if action == "sqs:SendMessage"}
    assert sent_to == {"EventQueue", "DeadLetters"}


def test_the_data_action_can_touch_no_claim() -> None:
    """A claim's partition key has slashes, so no event can make up a key that is a word.

    dynamodb, "Using IAM policy conditions for fine-grained access control": LeadingKeys; IAM,
    "Multivalued context keys": ForAllValues holds for no value as well, hence the Null.
    """
    assert "/" not in breaker_row.KEY["pk"]["S"]
    tables = [
        statement
        for statement in statements_of("DataActionRole", true=set())
        if "dynamodb:GetItem" in statement["Action"]
    ]
    assert [statement["Condition"] for statement in tables] == [
        {
            "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [breaker_row.KEY["pk"]["S"]]},
            "Null": {"dynamodb:LeadingKeys": "false"},
        }
    ]


def test_the_enrichment_has_no_access_to_aws_but_its_log() -> None:
    assert aws_calls(ROOT / "functions/enrichment/once_enrichment") == set()
    actions = {action for action, _ in granted("EnrichmentRole", OPTIONS[1])}
    assert actions == {"logs:CreateLogStream", "logs:PutLogEvents"}


def test_the_code_is_read_as_it_is_written() -> None:
    """If the search for calls went blind, the comparison above would prove nothing."""
    assert aws_calls(ROOT / "functions/data_action/once_data_action") == {
        ("dynamodb", "DeleteItem"),
        ("dynamodb", "GetItem"),
        ("dynamodb", "UpdateItem"),
        ("events", "DescribeEventBus"),
        ("events", "PutEvents"),
        ("lambda", "Invoke"),
        ("secretsmanager", "GetSecretValue"),
    }


def test_each_placeholder_that_names_a_resource_is_a_target_of_some_task() -> None:
    raw = ASL_PATH.read_text()
    given = RESOURCES["StateMachine"]["Properties"]["DefinitionSubstitutions"]
    assert set(re.findall(r"\$\{(\w+)\}", raw)) == set(given)
    for name in ("ClaimTable", "EventQueueUrl", "DeadLetterQueueUrl", "DataActionFunction"):
        assert re.search(rf"({'|'.join(TARGETS)}): \${{{name}}}", raw), name


def test_each_role_is_assumed_by_one_service_for_this_account() -> None:
    principals = {"PipeRole": "pipes", "StateMachineRole": "states"}
    for role in of_type("AWS::IAM::Role"):
        (trust,) = RESOURCES[role]["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        service = principals.get(role, "lambda")
        assert trust["Principal"] == {"Service": f"{service}.amazonaws.com"}
        # Lambda assumes a role only for a function that names it; it sends no source to check.
        assert ("Condition" in trust) == (service != "lambda")


def test_no_role_has_a_wildcard_and_only_log_delivery_any_resource() -> None:
    for role, statement in statements():
        actions = as_list(statement["Action"])
        assert not any("*" in action for action in actions), role
        if statement["Resource"] == "*":
            assert set(actions) == LOG_DELIVERY, role
