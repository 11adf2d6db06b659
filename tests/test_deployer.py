"""The policy of docs/examples lets somebody deploy the template, and nothing beside it.

What CloudFormation needs for a resource stands in the resource's schema, which cfn-lint carries:
CloudFormation, "Resource type schema", handlers and tagging, permissions.
"""

import json
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import cfnlint
import pytest

from proof.definition.asl import ROOT
from proof.template import RESOURCES
from proof.translated import Translated
from tests.test_deployments import GENESYS, SETS, WEBHOOK

POLICY = json.loads((ROOT / "docs/examples/deployer-policy.json").read_text())
STATEMENTS = {statement["Sid"]: statement for statement in POLICY["Statement"]}
# What the template asks of no resource, by the rights that only it needs.
UNUSED = (
    # Data of a table, and where it goes or comes from.
    "dynamodb:*Item", "dynamodb:Query", "dynamodb:Scan", "dynamodb:*Import*",
    "dynamodb:*Replica*", "dynamodb:*ableKinesis*", "dynamodb:UpdateKinesis*", "kinesis:*",
    "dynamodb:???ResourcePolicy", "dynamodb:DeleteResourcePolicy", "dynamodb:UpdateContributor*",
    # Managed policies, and a description that no role has.
    "iam:*tachRolePolicy", "iam:UpdateRoleDescription", "iam:CreateServiceLinkedRole",
    # A key of your own: docs/encryption.md.
    "kms:*",
    # Networks, file systems, layers, signing and versions of functions.
    "ec2:*", "elasticfilesystem:*", "s3files:*", "lambda:*CodeSigningConfig",
    "lambda:PublishVersion",
    "lambda:GetLayerVersion", "lambda:PassCapacityProvider", "lambda:Put*RecursionConfig",
    "lambda:Put*ScalingConfig", "lambda:PutRuntimeManagementConfig",
    # A bucket's websites, copies, inventories, tables, access lists; and what is in it.
    "s3:*Website", "S3:*", "s3:*Replication*", "s3:*Metadata*", "s3:*Metrics*", "s3:*Inventory*",
    "s3:*Analytics*", "s3:*Tiering*", "s3:*Accelerate*", "s3:*Acl", "s3:*Abac", "s3:*C[Oo][Rr][Ss]",
    "s3:*Logging", "s3:*Notification", "s3:*ObjectLock*", "s3:*Versioning", "s3:*Object",
    "s3:*ObjectVersion", "s3:REST*", "s3:Delete*Encryption", "s3:Delete*Lifecycle",
    "s3:DeleteBucketTagging", "s3tables:*",
    # Of log groups: masking, indexes, senders without a signature.
    "logs:Put*Policy", "logs:Delete*Policy", "logs:PutLogEvents", "logs:PutBearer*",
    "logs:PutLogGroupDeletionProtection", "sns:PutDataProtectionPolicy", "firehose:*",
    # A bus that is open to other accounts.
    "events:*Permission",
)  # fmt: skip
# Of these patterns, what the template does ask for.
USED = (
    "dynamodb:GetResourcePolicy", "s3:GetBucketPolicy", "logs:PutRetentionPolicy",
    "logs:DeleteRetentionPolicy", "logs:PutResourcePolicy",
)  # fmt: skip
# What `sam deploy` does before CloudFormation begins.
BEFORE = (
    "cloudformation:*",
    "s3:GetBucketLocation",
    "s3:GetObject",
    "s3:ListBucket",
    "s3:PutObject",
)


def matches(action: str, patterns: Any) -> bool:
    return any(
        fnmatchcase(action, pattern)
        for pattern in ([patterns] if isinstance(patterns, str) else patterns)
    )


@cache
def schemas() -> dict[str, dict[str, Any]]:
    """By type of resource, with every kind of resource that a parameter adds."""
    everything = {**WEBHOOK, **SETS["a published schema"], "EventSourceName": f"{GENESYS}/live"}
    more = {"AlarmEmail": "on-call@example.com", "ArchiveDays": "7"}
    deployed = Translated({**everything, **more})
    assert deployed.resources.keys() >= RESOURCES.keys()
    folder = Path(cfnlint.__file__).parent / "data" / "schemas"
    known = json.loads((folder / "providers" / f"{deployed.region}.json").read_text())
    return {
        kind: json.loads((folder / "resources" / f"{known[kind]}.json").read_text())
        for kind in {resource["Type"] for resource in deployed.resources.values()}
    }


@cache
def needed() -> dict[str, set[str]]:
    rights = {}
    for kind, schema in schemas().items():
        handlers = [body for name, body in schema["handlers"].items() if name != "list"]
        asked = [*handlers, schema.get("tagging", {})]
        rights[kind] = {action for part in asked for action in part.get("permissions", [])}
    return rights


def used(action: str) -> bool:
    return matches(action, USED) or not matches(action, UNUSED)


def allowed_by(statement: dict[str, Any]) -> list[str]:
    action = statement["Action"]
    return [action] if isinstance(action, str) else action


ALLOWED = [action for statement in STATEMENTS.values() for action in allowed_by(statement)]


def test_the_policy_allows_all_that_cloudformation_does_for_every_resource() -> None:
    missing = {
        kind: sorted(a for a in actions if used(a) and not matches(a, ALLOWED))
        for kind, actions in needed().items()
    }
    assert {kind: actions for kind, actions in missing.items() if actions} == {}


def test_the_policy_allows_nothing_that_no_resource_needs() -> None:
    wanted = {action for actions in needed().values() for action in actions if used(action)}
    too_much = {
        action
        for action in ALLOWED
        if not matches(action, BEFORE) and not any(fnmatchcase(a, action) for a in wanted)
    }
    assert too_much == set()


@pytest.mark.parametrize("sid", sorted(STATEMENTS.keys() - {"WhatAwsNarrowsToNoResource"}))
def test_every_right_ends_at_this_stack(sid: str) -> None:
    resources = STATEMENTS[sid]["Resource"]
    ours = (
        "genesys-once",
        "genesys.com",
        "aws-sam-cli",
        "Serverless-2016",
        "Pipe-",
        "StateMachine-",
        "EventArchive-",
    )
    for resource in [resources] if isinstance(resources, str) else resources:
        assert any(name in resource for name in ours), resource


def test_a_role_is_passed_to_the_services_that_assume_one_and_to_no_other() -> None:
    passed = STATEMENTS["RolesForTheirServices"]["Condition"]["StringEquals"]
    assumed = {
        statement["Principal"]["Service"]
        for role in Translated({}).of_type("AWS::IAM::Role").values()
        for statement in role["AssumeRolePolicyDocument"]["Statement"]
    }
    assert set(passed["iam:PassedToService"]) == assumed


def test_the_policy_fits_into_a_managed_one() -> None:
    """6,144 characters without white space: IAM, "IAM and AWS STS quotas", managed policies."""
    assert len(json.dumps(POLICY, separators=(",", ":"))) <= 6144


def test_all_that_can_have_tags_gets_those_of_the_stack() -> None:
    """CloudFormation, "Resource tag": stack-level tags go to every resource that supports them."""
    tagging = {kind: schema.get("tagging", {}) for kind, schema in schemas().items()}
    without = {kind for kind, said in tagging.items() if not said.get("taggable")}
    assert {kind.rpartition("::")[2] for kind in without} == {
        "Archive",
        "BucketPolicy",
        "LogStream",
        "QueuePolicy",
        "Subscription",
        "TopicPolicy",
    }
    late = {kind for kind, said in tagging.items() if said.get("tagOnCreate") is False}
    assert late <= without, "an account that refuses what has no tags would refuse it"
