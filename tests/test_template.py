"""The template's promises: limits that end in the right order, nothing open without need."""

import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from once_pacing.times import DAY_MS, LONGEST_WAIT_MS

from proof.definition.asl import ROOT, SUBSTITUTIONS, definition, states
from proof.template import RESOURCES, TEMPLATE, decided, of_type, statements

TIMING = TEMPLATE["Mappings"]["Durations"]
STATES = states()
EVENT_TASKS = {
    name
    for name, state in STATES["SettleEvents"]["ItemProcessor"]["States"].items()
    if state["Type"] == "Task"
}
# Properties that end in Name and are not the name of their resource.
REFERENCES = {"EventSourceName", "EventBusName", "MetricName", "DisplayName"}


@pytest.mark.parametrize("timing", TIMING)
def test_each_limit_ends_before_the_next_begins(timing: str) -> None:
    seconds = TIMING[timing]
    slack = {"production": 30, "fast": 2}[timing]
    assert seconds["Call"] < seconds["Action"] < STATES["RunAction"]["TimeoutSeconds"]
    assert seconds["Pacing"] < STATES["AskPace"]["TimeoutSeconds"]
    assert seconds["Action"] < seconds["Attempt"] < seconds["Machine"]
    assert seconds["Machine"] + seconds["Action"] < seconds["Lease"]
    assert seconds["Enrichment"] + seconds["Lease"] + slack < seconds["Visibility"]


# With a window a poller hides what it has taken for 7 minutes, 30 seconds and the window, and
# gathers for the window, or for 20 seconds where little comes: eventbridge, "Amazon EventBridge
# Pipes error handling and troubleshooting", "Amazon Simple Queue Service as a source".
PIPE_HIDES_SECONDS, GATHERS_AT_LEAST = 7 * 60 + 30, 20


def test_a_batching_window_however_long_keeps_the_order() -> None:
    seconds, window = TIMING["production"], TEMPLATE["Parameters"]["BatchWindowSeconds"]
    for gathers in range(window["MinValue"] + 1, window["MaxValue"] + 1):
        hidden = PIPE_HIDES_SECONDS + gathers - max(gathers, GATHERS_AT_LEAST)
        assert seconds["Enrichment"] + seconds["Lease"] + 30 < hidden


def test_with_a_window_nothing_stays_hidden_for_longer_than_the_queue_says() -> None:
    """So status and explain are right about messages without a return time of their own."""
    longest = PIPE_HIDES_SECONDS + TEMPLATE["Parameters"]["BatchWindowSeconds"]["MaxValue"]
    assert longest <= TIMING["production"]["Visibility"]


def test_production_limits_are_those_written_into_the_state_machine() -> None:
    seconds = TIMING["production"]
    assert definition()["TimeoutSeconds"] == seconds["Machine"]


def longest_seconds(name: str) -> float:
    """Returns the longest time of a task with its retries. The action has none after a timeout."""
    task = STATES[name]
    retry = task.get("Retry", [{"MaxAttempts": 0}])[-1]
    retries = 0 if name == "RunAction" else retry["MaxAttempts"]
    waits = (
        min(retry["IntervalSeconds"] * retry["BackoffRate"] ** at, retry["MaxDelaySeconds"])
        for at in range(retries)
    )
    return (retries + 1) * task["TimeoutSeconds"] + sum(waits)


def ways(name: str, before: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """Yields the tasks on each way from a state to an end of its event, no state twice."""
    state: dict[str, Any] = STATES[name]
    own = [name] if state["Type"] == "Task" else []
    nexts = [state.get("Next"), state.get("Default")]
    nexts += [rule["Next"] for rule in state.get("Catch", []) + state.get("Choices", [])]
    onward = [target for target in nexts if target and target not in before]
    if not onward:
        yield own
    for target in onward:
        for way in ways(target, (*before, name)):
            yield [*own, *way]


def ending_seconds() -> float:
    return longest_seconds("ReturnEvents") + longest_seconds("RecordOutcomes")


def test_after_the_deadline_there_is_room_for_a_request_its_end_and_the_report() -> None:
    """A request that begins right before the deadline, and then each task as slow as it may be."""
    slowest = max(sum(map(longest_seconds, way)) for way in ways("RunAction", ("AdvanceLatest",)))
    assert 60 < slowest + ending_seconds() < TIMING["production"]["Attempt"]


def test_after_the_deadline_there_is_room_for_a_second_request_that_comes_too_late() -> None:
    late = ("AdvanceLatest", "RunAction", "CloseClaim")
    assert sum(map(longest_seconds, late)) + ending_seconds() < TIMING["production"]["Attempt"]


@pytest.mark.parametrize("slow", sorted(EVENT_TASKS))
def test_a_slow_task_leaves_time_for_the_report_of_its_round(slow: str) -> None:
    """It times out on each of its tries; all others respond within a second."""
    first = STATES["SettleEvents"]["ItemProcessor"]["StartAt"]
    longest = max(
        sum(longest_seconds(task) if task == slow else 1 for task in way) for way in ways(first)
    )
    assert longest + ending_seconds() < TIMING["production"]["Attempt"]


def test_the_substitutions_of_the_tests_are_productions() -> None:
    seconds = TIMING["production"]
    for name in ("Attempt", "Machine", "Lease"):
        assert SUBSTITUTIONS[f"{name}Seconds"] == str(seconds[name])
    assert SUBSTITUTIONS["OwnerWaitSeconds"] == seconds["OwnerWaits"]
    placeholders = RESOURCES["StateMachine"]["Properties"]["DefinitionSubstitutions"]
    assert SUBSTITUTIONS["WaitDays"] == placeholders["WaitDays"]
    for name in ("ClaimDays", "MaxTries"):
        assert SUBSTITUTIONS[name] == str(TEMPLATE["Parameters"][name]["Default"])
    limits = TEMPLATE["Mappings"]["RequestsPerMinute"]
    assert SUBSTITUTIONS["MaxActionsPerMinute"] == limits["none"]["Default"]


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


def test_every_queue_keeps_what_it_holds_for_as_long_as_sqs_can() -> None:
    kept = {
        queue["Properties"]["MessageRetentionPeriod"]
        for queue in of_type("AWS::SQS::Queue").values()
    }
    assert kept == {14 * 86400}
    rule = RESOURCES["OverflowBucket"]["Properties"]["LifecycleConfiguration"]["Rules"][0]
    assert rule["ExpirationInDays"] > 2 * (14 + 14), "waited and parked, replayed and again"


@pytest.mark.parametrize(
    "name", ["ClaimTable", "OverflowBucket", "OutcomeLogGroup", "OutcomeLogStream"]
)
def test_stored_state_outlives_the_stack(name: str) -> None:
    assert RESOURCES[name]["DeletionPolicy"] == "RetainExceptOnCreate", "unless it never came to be"
    assert RESOURCES[name]["UpdateReplacePolicy"] == "Retain"


QUEUE = RESOURCES["EventQueue"]["Properties"]


def test_waiting_events_are_parked_before_the_queue_deletes_them() -> None:
    """It is parked by the first delivery after that age, and the one before may be 12 hours old."""
    days = int(SUBSTITUTIONS["WaitDays"])
    assert days * DAY_MS == LONGEST_WAIT_MS, "the machine and pacing agree"
    day = 86400
    assert days * day + 12 * 3600 + 3 * day < QUEUE["MessageRetentionPeriod"]


def test_messages_that_crash_batches_are_dead_letters_before_the_queue_deletes_them() -> None:
    """A batch that crashes sets no return time, so its messages return after the queue's own."""
    most = QUEUE["RedrivePolicy"]["maxReceiveCount"]
    assert most == 1000, "SQS's largest"
    assert most * TIMING["production"]["Visibility"] < QUEUE["MessageRetentionPeriod"] / 2


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


class Asked(dict[str, str]):
    """An environment with nothing in it, that remembers what was looked for."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return default


@pytest.mark.parametrize("package", ["data_action", "enrichment", "pacing"])
def test_a_function_reads_its_settings_in_one_place_and_the_template_sets_each(
    package: str,
) -> None:
    set_by_template = [
        set(function["Properties"]["Environment"]["Variables"])
        for function in of_type("AWS::Serverless::Function").values()
        if function["Properties"]["CodeUri"] == f"functions/{package}/"
    ]
    environment = Asked()
    import_module(f"once_{package}.settings").Settings.read(environment)
    assert set_by_template == [environment.names]
    for file in (ROOT / "functions" / package / f"once_{package}").glob("*.py"):
        elsewhere = file.read_text().replace("Settings.read(os.environ)", "")
        assert not re.search(r"\b(environ|getenv)\b", elsewhere), file


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


def test_no_two_sections_share_a_name() -> None:
    sections = ("Parameters", "Rules", "Mappings", "Conditions", "Resources")
    names = [name for section in sections for name in TEMPLATE[section]]
    assert [name for name, times in Counter(names).items() if times > 1] == []


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
    assert grouped == list(TEMPLATE["Parameters"]), "the order in which --guided asks"
