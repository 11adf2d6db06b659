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
from once_data_action import breaker

from proof.definition.asl import ROOT, definition, states
from proof.template import of_type
from proof.template.translated import ACCOUNT, Translated
from tests.template.deployments import DEPLOYMENTS, REGION

Permission = tuple[str, str]  # IAM action, and the resource as text

# Where the IAM action is not called like the API's.
IAM_ACTIONS = {"lambda:Invoke": "lambda:InvokeFunction"}
# The field of a task that names what it works on.
TARGETS = ("TableName", "FunctionName", "QueueUrl", "LogGroupName")
# What a pipe does with a queue: eventbridge, "Permissions for Amazon EventBridge Pipes".
PIPE_READS_QUEUE = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}
# What delivers a machine's logs, which SAM does not add: step-functions, "Using CloudWatch Logs".
LOG_DELIVERY = {
    "logs:CreateLogDelivery",
    "logs:GetLogDelivery",
    "logs:UpdateLogDelivery",
    "logs:DeleteLogDelivery",
    "logs:ListLogDeliveries",
    "logs:PutResourcePolicy",
    "logs:DescribeResourcePolicies",
    "logs:DescribeLogGroups",
}
# What each does with a customer managed key, the former one included: SQS wants Decrypt of a
# receiver, and GenerateDataKey too of a sender; DynamoDB Decrypt of a reader or writer. The
# enrichment touches nothing encrypted.
KEY_USE = {
    "PipeRole": {"kms:Decrypt"},
    "EnrichmentRole": set[str](),
    "StateMachineRole": {"kms:Decrypt", "kms:GenerateDataKey"},
    "DataActionRole": {"kms:Decrypt"},
}
# The key of the secret, whichever it is; test_deployments.py has the condition on it.
SECRETS_KEY = f"arn:aws:kms:{REGION}:{ACCOUNT}:key/*"
FUNCTIONS = {
    "EnrichmentRole": ("EnrichmentFunction", "enrichment"),
    "DataActionRole": ("DataActionFunction", "data_action"),
}
OPTIONS = ("key", "another key", "key removed", "bus", "function", "former claims")


def text(resource: Any) -> str:
    """Returns the name of one of our resources, or the ARN or pattern of another."""
    if isinstance(resource, str):
        return resource
    ((_, argument),) = resource.items()
    name = argument[0] if isinstance(argument, list) else argument
    return re.sub(r"\$\{(\w+)(\.Arn)?\}", r"\1", name)


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def statements_of(role: str, deployed: Translated) -> list[dict[str, Any]]:
    """Reads inline policies alone: a pipe tries its role's permissions when it is created, and
    another policy may come later."""
    policies = deployed.resources[role]["Properties"]["Policies"]
    return [entry for policy in policies for entry in policy["PolicyDocument"]["Statement"]]


def granted(role: str, deployed: Translated) -> set[Permission]:
    return {
        (action, text(resource))
        for statement in statements_of(role, deployed)
        for action in as_list(statement["Action"])
        for resource in as_list(statement["Resource"])
    }


def claim_table(deployed: Translated) -> str:
    name = deployed.parameters.get("ClaimTableName")
    return f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}" if name else "ClaimTable"


def used_by_machine(deployed: Translated) -> Iterator[Permission]:
    machine = deployed.resources["StateMachine"]["Properties"]
    placeholders = machine["DefinitionSubstitutions"]
    raw = states(definition({name: f"${{{name}}}" for name in placeholders}))
    for task in (state for state in raw.values() if state["Type"] == "Task"):
        service, action = task["Resource"].split(":::")[1].rsplit(":", 1)
        service = service.removeprefix("aws-sdk:").replace("cloudwatchlogs", "logs")
        name = f"{service}:{action[0].upper()}{action[1:]}"
        (target,) = [task["Arguments"][field] for field in TARGETS if field in task["Arguments"]]
        resource = text(placeholders[target.strip("${}")])
        resource = claim_table(deployed) if service == "dynamodb" else resource
        yield IAM_ACTIONS.get(name, name), resource
    assert machine["LoggingConfiguration"]["Destinations"]
    yield from ((action, "*") for action in LOG_DELIVERY)


def used_by_pipe(deployed: Translated) -> Iterator[Permission]:
    pipe = deployed.resources["Pipe"]["Properties"]
    yield from ((action, text(pipe["Source"])) for action in PIPE_READS_QUEUE)
    yield "lambda:InvokeFunction", text(pipe["Enrichment"])
    yield "states:StartSyncExecution", text(pipe["Target"])


def used_by_function(role: str, deployed: Translated) -> Iterator[Permission]:
    function, package = FUNCTIONS[role]
    given, target = deployed.parameters, deployed.parameters.get("ActionTarget")
    resources = {"dynamodb": claim_table(deployed)}
    if "DestinationSecretArn" in given:
        resources["secretsmanager"] = given["DestinationSecretArn"]
    if target in ("eventbridge", "lambda"):
        resources[target.replace("eventbridge", "events")] = given["TargetArn"]
    for service, operation in aws_calls(ROOT / "functions" / package / f"once_{package}"):
        if service in resources:
            name = f"{service}:{operation}"
            yield IAM_ACTIONS.get(name, name), resources[service]
    if role == "DataActionRole" and "DestinationSecretArn" in given:
        yield "kms:Decrypt", SECRETS_KEY
    log_group = deployed.resources[function]["Properties"]["LoggingConfig"]["LogGroup"]
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


def used(role: str, deployed: Translated) -> set[Permission]:
    if role == "PipeRole":
        found = set(used_by_pipe(deployed))
    elif role == "StateMachineRole":
        found = set(used_by_machine(deployed))
    else:
        found = set(used_by_function(role, deployed))
    for name in ("KmsKeyArn", "FormerKmsKeyArn"):
        if key := deployed.parameters.get(name):
            found |= {(action, key) for action in KEY_USE[role]}
    return found


@pytest.mark.parametrize("name", OPTIONS)
@pytest.mark.parametrize("role", of_type("AWS::IAM::Role"))
def test_role_may_do_what_it_does_and_nothing_more(role: str, name: str) -> None:
    assert granted(role, DEPLOYMENTS[name]) == used(role, DEPLOYMENTS[name])


@pytest.mark.parametrize("role", of_type("AWS::IAM::Role"))
def test_statement_names_arns_and_has_no_condition_without_need(role: str) -> None:
    """The conditions on rows and on the key of the secret have tests of their own."""
    for statement in statements_of(role, DEPLOYMENTS["webhook"]):
        actions = {*as_list(statement["Action"])}
        needs = role == "DataActionRole" and actions & {"dynamodb:GetItem", "kms:Decrypt"}
        assert ("Condition" in statement) == bool(needs)
        for resource in as_list(statement["Resource"]):
            # The Ref of a state machine is its ARN; that of any other resource is its name.
            arns = ({"Fn::GetAtt": [text(resource), "Arn"]}, {"Ref": "StateMachine"})
            assert isinstance(resource, str) or resource in arns


def test_data_action_can_touch_no_claim() -> None:
    """A claim's partition key has slashes, so no event can make up a key that is a word.

    dynamodb, "Using IAM policy conditions for fine-grained access control": LeadingKeys; IAM,
    "Multivalued context keys": ForAllValues holds for no value as well, hence the Null.
    """
    assert "/" not in breaker.KEY["pk"]["S"]
    assert breaker.take_token("claims", 7, 2, 0)["Key"]["pk"] == breaker.KEY["pk"]
    tables = [
        statement
        for statement in statements_of("DataActionRole", DEPLOYMENTS["webhook"])
        if "dynamodb:GetItem" in statement["Action"]
    ]
    assert [statement["Condition"] for statement in tables] == [
        {
            "ForAllValues:StringEquals": {"dynamodb:LeadingKeys": [breaker.KEY["pk"]["S"]]},
            "Null": {"dynamodb:LeadingKeys": "false"},
        }
    ]


def test_role_is_assumed_by_one_service_for_this_account() -> None:
    principals = {"PipeRole": "pipes", "StateMachineRole": "states"}
    for role, body in of_type("AWS::IAM::Role").items():
        (trust,) = body["Properties"]["AssumeRolePolicyDocument"]["Statement"]
        service = principals.get(role, "lambda")
        assert trust["Principal"] == {"Service": f"{service}.amazonaws.com"}
        # Lambda assumes a role only for a function that names it; it sends no source to check.
        assert ("Condition" in trust) == (service != "lambda")
