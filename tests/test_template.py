"""The template's promises: limits that end in the right order, nothing open without need."""

from pathlib import Path

import pytest

from proof.definition.asl import ROOT, definition, states
from proof.template import RESOURCES, TEMPLATE, decided, of_type, statements

# Properties that end in Name and are not the name of their resource.
REFERENCES = {"EventSourceName", "EventBusName", "MetricName", "DisplayName"}


@pytest.mark.parametrize("timing", TEMPLATE["Mappings"]["Timing"])
def test_each_limit_ends_before_the_next_begins(timing: str) -> None:
    seconds = TEMPLATE["Mappings"]["Timing"][timing]
    slack = {"production": 30, "fast": 2}[timing]
    assert seconds["Call"] < seconds["Action"] < seconds["Attempt"] < seconds["Machine"]
    assert seconds["Machine"] + seconds["Action"] < seconds["Lease"]
    assert seconds["Enrichment"] + seconds["Lease"] + slack < seconds["Visibility"]


def test_production_limits_are_those_written_into_the_state_machine() -> None:
    seconds = TEMPLATE["Mappings"]["Timing"]["production"]
    machine = definition()
    assert machine["TimeoutSeconds"] == seconds["Machine"]
    assert states(machine)["RunAction"]["TimeoutSeconds"] == seconds["Attempt"]
    assert seconds["Enrichment"] + seconds["Machine"] < 300, "a pipe gives up after five minutes"


def test_the_substitutions_of_the_tests_are_productions() -> None:
    from proof.definition.asl import SUBSTITUTIONS

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


def test_every_queue_the_bucket_and_the_topic_refuse_plain_http() -> None:
    covered = set()
    policies = {
        **of_type("AWS::SQS::QueuePolicy"),
        **of_type("AWS::S3::BucketPolicy"),
        **of_type("AWS::SNS::TopicPolicy"),
    }
    for policy in policies.values():
        properties = policy["Properties"]
        for statement in properties["PolicyDocument"]["Statement"]:
            if statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}:
                assert statement["Effect"] == "Deny"
                owners = properties.get("Queues") or properties.get("Topics")
                covered |= {owner["Ref"] for owner in owners or [properties["Bucket"]]}
    protected = ("AWS::SQS::Queue", "AWS::S3::Bucket", "AWS::SNS::Topic")
    assert covered == {name for kind in protected for name in of_type(kind)}


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
    assert RESOURCES[name]["DeletionPolicy"] == "RetainExceptOnCreate", "unless it never came to be"
    assert RESOURCES[name]["UpdateReplacePolicy"] == "Retain"


def test_nothing_can_age_out_of_the_queue_while_it_is_still_tried() -> None:
    """What was received three times is left out of the queue's age, so no alarm would tell."""
    tries = TEMPLATE["Parameters"]["MaxReceiveCount"]["MaxValue"]
    visibility = TEMPLATE["Mappings"]["Timing"]["production"]["Visibility"]
    kept = RESOURCES["EventQueue"]["Properties"]["MessageRetentionPeriod"]
    assert tries * visibility < kept - 86400


@pytest.mark.parametrize("own_key", [True, False])
def test_all_that_is_kept_is_encrypted_with_your_key_where_you_give_one(own_key: bool) -> None:
    key = {"Ref": "KmsKeyArn"} if own_key else None
    stored = decided(RESOURCES, true={"HasKey"} if own_key else ())
    properties = {name: resource.get("Properties", {}) for name, resource in stored.items()}
    for name in of_type("AWS::SQS::Queue"):
        assert properties[name].get("KmsMasterKeyId") == key, name
        assert properties[name].get("SqsManagedSseEnabled", False) is not own_key, name
    for name in of_type("AWS::Logs::LogGroup"):
        assert properties[name].get("KmsKeyId") == key, name
    table = properties["ClaimTable"]["SSESpecification"]
    assert table["SSEEnabled"] is True
    assert table.get("KMSMasterKeyId") == key
    bucket = properties["OverflowBucket"]["BucketEncryption"]
    default = bucket["ServerSideEncryptionConfiguration"][0]["ServerSideEncryptionByDefault"]
    assert default["SSEAlgorithm"] == ("aws:kms" if own_key else "AES256")
    assert default.get("KMSMasterKeyID") == key


def test_every_log_group_expires() -> None:
    for name, group in of_type("AWS::Logs::LogGroup").items():
        assert group["Properties"]["RetentionInDays"] == {"Ref": "LogRetentionDays"}, name


def test_nothing_has_a_physical_name_that_a_second_stack_would_share() -> None:
    """Dashboards are seen in every region, so theirs holds the region too."""
    names = {
        (name, key): str(value)
        for name, resource in RESOURCES.items()
        for key, value in resource.get("Properties", {}).items()
        if key == "Name" or (key.endswith("Name") and key not in REFERENCES)
    }
    del names["EventSchema", "RegistryName"]
    del names["PartnerBus", "Name"], names["OutcomeLogStream", "LogGroupName"]
    for (name, key), value in names.items():
        assert "${AWS::StackName}" in value, (name, key)
    assert "${AWS::Region}" in names["Dashboard", "DashboardName"]


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
