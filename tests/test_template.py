"""The template's promises: limits that end in the right order, nothing open without need."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.statemachine.asl import ROOT, definition, states


class CloudFormationLoader(yaml.SafeLoader):
    """Reads !Ref, !GetAtt, !Sub and their like as {tag: value}."""


def _intrinsic(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        return {suffix: loader.construct_scalar(node)}
    if isinstance(node, yaml.SequenceNode):
        return {suffix: loader.construct_sequence(node, deep=True)}
    assert isinstance(node, yaml.MappingNode)
    return {suffix: loader.construct_mapping(node, deep=True)}


CloudFormationLoader.add_multi_constructor("!", _intrinsic)


def load_template() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load(
        Path(ROOT, "template.yaml").read_text(), Loader=CloudFormationLoader
    )
    return loaded


TEMPLATE = load_template()
RESOURCES: dict[str, dict[str, Any]] = TEMPLATE["Resources"]


def of_type(kind: str) -> dict[str, dict[str, Any]]:
    return {name: body for name, body in RESOURCES.items() if body["Type"] == kind}


def statements() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, role in of_type("AWS::IAM::Role").items():
        for policy in role["Properties"]["Policies"]:
            for statement in policy["PolicyDocument"]["Statement"]:
                yield name, statement["If"][1] if "If" in statement else statement


@pytest.mark.parametrize("timing", TEMPLATE["Mappings"]["Timing"])
def test_each_limit_ends_before_the_next_begins(timing: str) -> None:
    seconds = TEMPLATE["Mappings"]["Timing"][timing]
    slack = {"production": 30, "fast": 2}[timing]
    assert seconds["Action"] < seconds["Attempt"] < seconds["Machine"]
    assert seconds["Machine"] + seconds["Action"] < seconds["Lease"]
    assert seconds["Enrichment"] + seconds["Lease"] + slack < seconds["Visibility"]


def test_production_limits_are_those_written_into_the_state_machine() -> None:
    seconds = TEMPLATE["Mappings"]["Timing"]["production"]
    machine = definition()
    assert machine["TimeoutSeconds"] == seconds["Machine"]
    assert states(machine)["RunAction"]["TimeoutSeconds"] == seconds["Attempt"]
    assert seconds["Enrichment"] + seconds["Machine"] < 300, "a pipe gives up after five minutes"


def test_the_substitutions_of_the_tests_are_productions() -> None:
    from tests.statemachine.asl import SUBSTITUTIONS

    seconds = TEMPLATE["Mappings"]["Timing"]["production"]
    for name in ("Action", "Attempt", "Machine", "Lease"):
        assert SUBSTITUTIONS[f"{name}Seconds"] == str(seconds[name])
    assert SUBSTITUTIONS["ClaimDays"] == str(TEMPLATE["Parameters"]["ClaimDays"]["Default"])


def test_the_pipe_leaves_the_visibility_timeout_alone_and_waits_for_the_answer() -> None:
    pipe = RESOURCES["Pipe"]["Properties"]
    assert pipe["SourceParameters"]["SqsQueueParameters"] == {"BatchSize": {"Ref": "BatchSize"}}
    target = pipe["TargetParameters"]["StepFunctionStateMachineParameters"]
    assert target == {"InvocationType": "REQUEST_RESPONSE"}
    assert "FilterCriteria" not in pipe["SourceParameters"], "a filter deletes what it refuses"


def test_only_log_delivery_may_touch_any_resource() -> None:
    for role, statement in statements():
        if statement["Resource"] == "*":
            assert all(action.startswith("logs:") for action in statement["Action"]), role
            assert "logs:CreateLogDelivery" in statement["Action"], role


def test_no_role_holds_a_wildcard_action() -> None:
    for role, statement in statements():
        actions = statement["Action"]
        for action in [actions] if isinstance(actions, str) else actions:
            assert "*" not in action, role


def test_every_queue_and_the_bucket_refuse_plain_http() -> None:
    covered = set()
    policies = {**of_type("AWS::SQS::QueuePolicy"), **of_type("AWS::S3::BucketPolicy")}
    for policy in policies.values():
        properties = policy["Properties"]
        for statement in properties["PolicyDocument"]["Statement"]:
            if statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}:
                assert statement["Effect"] == "Deny"
                owners = properties.get("Queues", [properties.get("Bucket")])
                covered |= {owner["Ref"] for owner in owners}
    assert covered == {*of_type("AWS::SQS::Queue"), *of_type("AWS::S3::Bucket")}


def test_only_the_rule_is_let_in_from_outside_the_account() -> None:
    allowed = [
        statement
        for policy in of_type("AWS::SQS::QueuePolicy").values()
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Allow"
    ]
    assert [statement["Principal"] for statement in allowed] == [
        {"Service": "events.amazonaws.com"}
    ]
    assert allowed[0]["Condition"] == {"ArnEquals": {"aws:SourceArn": {"GetAtt": "EventRule.Arn"}}}


def test_dead_ends_keep_longer_than_the_queue() -> None:
    kept = {
        name: queue["Properties"]["MessageRetentionPeriod"]
        for name, queue in of_type("AWS::SQS::Queue").items()
    }
    day = 86400
    assert kept.pop("EventQueue") == 4 * day
    assert set(kept.values()) == {14 * day}
    rule = RESOURCES["OverflowBucket"]["Properties"]["LifecycleConfiguration"]["Rules"][0]
    assert rule["ExpirationInDays"] > 4 + 14 + 4 + 14


@pytest.mark.parametrize("name", ["ClaimTable", "OverflowBucket"])
def test_what_remembers_outlives_the_stack(name: str) -> None:
    assert RESOURCES[name]["DeletionPolicy"] == "Retain"
    assert RESOURCES[name]["UpdateReplacePolicy"] == "Retain"


def test_every_log_group_expires() -> None:
    for name, group in of_type("AWS::Logs::LogGroup").items():
        assert group["Properties"]["RetentionInDays"] == {"Ref": "LogRetentionDays"}, name


def test_nothing_has_a_physical_name_that_a_second_stack_would_share() -> None:
    for name, resource in RESOURCES.items():
        properties = resource["Properties"]
        for key in ("QueueName", "TableName", "BucketName", "FunctionName", "RoleName", "Name"):
            if key in properties and name != "PartnerBus":
                pytest.fail(f"{name} has a fixed {key}")
        if "LogGroupName" in properties and resource["Type"] == "AWS::Logs::LogGroup":
            assert "${AWS::StackName}" in properties["LogGroupName"]["Sub"]


def test_every_parameter_says_what_it_is_for_and_is_used() -> None:
    text = Path(ROOT, "template.yaml").read_text().split("\nConditions:")[1]
    for name, parameter in TEMPLATE["Parameters"].items():
        assert parameter["Description"], name
        assert f"!Ref {name}" in text, name
    grouped = [
        name
        for group in TEMPLATE["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
        for name in group["Parameters"]
    ]
    assert sorted(grouped) == sorted(TEMPLATE["Parameters"])
