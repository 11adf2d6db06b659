"""The policies of docs/examples allow their reader's work, and nothing beside it.

What CloudFormation needs for a resource is in the resource's schema, which cfn-lint carries:
CloudFormation, "Resource type schema", handlers and tagging, permissions. What the commands need is
read from their code.
"""

import json
import re
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import pytest

from proof.definition.asl import ROOT
from proof.template import RESOURCES, TEMPLATE
from proof.template.translated import Translated
from tests.template.deployments import PARTNER, SCHEMAS, WEBHOOK
from tests.template.test_permissions import IAM_ACTIONS, as_list, aws_calls

EXAMPLES = ROOT / "docs" / "examples"
DEPLOYER = json.loads((EXAMPLES / "deployer-policy.json").read_text())["Statement"]
OPERATOR = json.loads((EXAMPLES / "operator-policy.json").read_text())["Statement"]
# Permissions of resource types that only serve what the template does not use.
UNUSED = (
    # Data of a table, and where it goes or comes from.
    "dynamodb:*Item", "dynamodb:Query", "dynamodb:Scan", "dynamodb:*Import*",
    "dynamodb:*Replica*", "dynamodb:*ableKinesis*", "dynamodb:UpdateKinesis*", "kinesis:*",
    "dynamodb:???ResourcePolicy", "dynamodb:DeleteResourcePolicy", "dynamodb:UpdateContributor*",
    # Managed policies, and a description that no role has.
    "iam:*tachRolePolicy", "iam:UpdateRoleDescription", "iam:CreateServiceLinkedRole",
    # A customer managed key: docs/operations.md.
    "kms:*",
    # Code in a bucket of one's own, networks, file systems, layers, signing and versions.
    "s3:*", "S3:*", "s3files:*", "s3tables:*", "ec2:*", "elasticfilesystem:*",
    "lambda:*CodeSigningConfig", "lambda:PublishVersion", "lambda:GetLayerVersion",
    "lambda:PassCapacityProvider", "lambda:Put*ScalingConfig", "lambda:PutRuntimeManagementConfig",
    # Of log groups: masking, indexes, senders without a signature.
    "logs:Put*Policy", "logs:Delete*Policy", "logs:PutLogEvents", "logs:PutBearer*",
    "logs:PutLogGroupDeletionProtection", "sns:PutDataProtectionPolicy", "firehose:*",
    # A bus that is open to other accounts.
    "events:*Permission",
)  # fmt: skip
USED = (
    "dynamodb:GetResourcePolicy", "logs:PutRetentionPolicy", "logs:DeleteRetentionPolicy",
    "logs:PutResourcePolicy",
)  # fmt: skip
# What `sam deploy` does before CloudFormation begins.
BEFORE = (
    "cloudformation:*",
    "s3:GetBucketLocation",
    "s3:GetObject",
    "s3:ListBucket",
    "s3:PutObject",
)


def actions_of(statements: list[dict[str, Any]]) -> list[str]:
    return [action for statement in statements for action in as_list(statement["Action"])]


def matches(action: str, patterns: Any) -> bool:
    return any(fnmatchcase(action, pattern) for pattern in patterns)


@cache
def needed_to_deploy() -> dict[str, set[str]]:
    """Returns what the schema of each type names, with the types that a parameter adds."""
    more = {"AlarmEmail": "on-call@example.com", "ArchiveDays": "7"}
    deployed = Translated({**WEBHOOK, **PARTNER, **more})
    assert deployed.resources.keys() >= RESOURCES.keys()
    files = json.loads((SCHEMAS / "providers" / f"{deployed.region}.json").read_text())
    found = {}
    for kind in {resource["Type"] for resource in deployed.resources.values()}:
        schema = json.loads((SCHEMAS / "resources" / f"{files[kind]}.json").read_text())
        handlers = [body for name, body in schema["handlers"].items() if name != "list"]
        parts = [*handlers, schema.get("tagging", {})]
        actions = {action for part in parts for action in part.get("permissions", [])}
        found[kind] = {a for a in actions if matches(a, USED) or not matches(a, UNUSED)}
    return found


def test_the_deployer_may_do_all_that_cloudformation_does_for_each_resource() -> None:
    allowed = actions_of(DEPLOYER)
    missing = {
        kind: sorted(action for action in actions if not matches(action, allowed))
        for kind, actions in needed_to_deploy().items()
    }
    assert {kind: actions for kind, actions in missing.items() if actions} == {}


def test_the_deployer_may_do_nothing_that_no_resource_needs() -> None:
    wanted = {action for actions in needed_to_deploy().values() for action in actions}
    too_much = {
        action
        for action in actions_of(DEPLOYER)
        if not matches(action, BEFORE) and not any(fnmatchcase(a, action) for a in wanted)
    }
    assert too_much == set()


def test_a_role_is_passed_to_the_services_that_assume_one_and_to_no_other() -> None:
    (statement,) = [one for one in DEPLOYER if one["Action"] == "iam:PassRole"]
    assumed = {
        trust["Principal"]["Service"]
        for role in Translated({}).of_type("AWS::IAM::Role").values()
        for trust in role["AssumeRolePolicyDocument"]["Statement"]
    }
    assert set(statement["Condition"]["StringEquals"]["iam:PassedToService"]) == assumed


@pytest.mark.parametrize("policy", [DEPLOYER, OPERATOR], ids=["deployer", "operator"])
def test_each_statement_ends_at_this_stack_and_the_policy_fits(
    policy: list[dict[str, Any]],
) -> None:
    """6,144 characters without white space: IAM, "IAM and AWS STS quotas", managed policies."""
    assert len(json.dumps(policy, separators=(",", ":"))) <= 6_000
    ours = ("genesys-once", "genesys.com", "aws-sam-cli", "Serverless-2016", "EventArchive-")
    others = {
        "arn:aws:events:*:111122223333:event-bus/default",
        "arn:aws:events:*:111122223333:replay/*",
    }
    for statement in policy:
        for resource in as_list(statement["Resource"]):
            if resource == "*":
                assert "AwsNarrowsToNoResource" in statement["Sid"]
            else:
                assert resource in others or any(name in resource for name in ours), resource


# The API's name of what IAM calls otherwise; a transaction needs the permission of its parts.
OPERATOR_ACTIONS = IAM_ACTIONS | {
    "dynamodb:TransactWriteItems": "dynamodb:UpdateItem",
    "sqs:SendMessageBatch": "sqs:SendMessage",
    "sqs:DeleteMessageBatch": "sqs:DeleteMessage",
    "sqs:ChangeMessageVisibilityBatch": "sqs:ChangeMessageVisibility",
    "stepfunctions:DescribeStateMachine": "states:DescribeStateMachine",
}


def test_the_operator_may_do_what_the_commands_and_the_outputs_do_and_nothing_else() -> None:
    calls = aws_calls(ROOT / "once" / "stack") | aws_calls(ROOT / "once" / "commands")
    names = {f"{service}:{operation}" for service, operation in calls}
    # Every identity may ask who it is.
    names -= {"sts:GetCallerIdentity"}
    printed = {
        f"{match[1]}:{''.join(w.title() for w in match[2].split('-'))}"
        for output in ("RedriveCommand", "ReplayCommand")
        for match in [re.search(r"aws (\w+) ([a-z-]+) ", str(TEMPLATE["Outputs"][output]))]
        if match
    }
    assert printed == {"sqs:StartMessageMoveTask", "events:StartReplay"}
    wanted = {OPERATOR_ACTIONS.get(name, name) for name in names} | printed
    assert set(actions_of(OPERATOR)) == wanted


def test_to_look_changes_nothing_but_the_visibility_of_parked_events() -> None:
    reads = (
        "*:Describe*",
        "*:Get*",
        "*:List*",
        "*:Query",
        "logs:FilterLogEvents",
        "logs:StartQuery",
    )
    for statement in OPERATOR:
        if statement["Sid"].startswith("Look"):
            assert all(matches(action, reads) for action in actions_of([statement]))
