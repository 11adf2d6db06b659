"""The template's promises: limits that end in the right order, nothing open without need."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from once_data_action.settings import Settings

from proof.definition.asl import ROOT, SUBSTITUTIONS, definition, states
from proof.template import RESOURCES, TEMPLATE, decided, of_type

SECONDS = TEMPLATE["Mappings"]["Durations"]["Seconds"]
STATES = states()
DAY = 86_400
QUEUE = RESOURCES["EventQueue"]["Properties"]


def test_each_limit_ends_before_the_next_begins() -> None:
    assert SECONDS["Call"] < SECONDS["Action"] < STATES["RunAction"]["TimeoutSeconds"]
    assert SECONDS["Begin"] + STATES["RunAction"]["TimeoutSeconds"] < SECONDS["Machine"]
    assert SECONDS["Machine"] + SECONDS["Action"] < SECONDS["Lease"]
    assert SECONDS["Enrichment"] + SECONDS["Lease"] + 30 < SECONDS["Visibility"]


def longest_seconds(name: str) -> float:
    """Returns the longest time of a task with its retries. The action has none after a time-out."""
    task = STATES[name]
    retries = max((r["MaxAttempts"] for r in task.get("Retry", [])), default=0)
    return float((1 if name == "RunAction" else 1 + retries) * task["TimeoutSeconds"])


def paths(name: str, before: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """Yields the tasks on each path from a state to an end, no state twice."""
    state: dict[str, Any] = STATES[name]
    own = [name] if state["Type"] == "Task" else []
    nexts = [state.get("Next"), state.get("Default")]
    nexts += [rule["Next"] for rule in state.get("Catch", []) + state.get("Choices", [])]
    onward = {target for target in nexts if target and target not in before}
    if not onward:
        yield own
    for target in onward:
        for path in paths(target, (*before, name)):
            yield [*own, *path]


def test_a_request_that_begins_last_is_settled_before_the_machine_ends() -> None:
    """One task is as slow as it may be on each of its tries, all others respond within a second."""
    for path in paths("RunAction"):
        slowest = max(longest_seconds(task) - 1 for task in path) + len(path)
        assert SECONDS["Begin"] + slowest < SECONDS["Machine"], path


def test_the_numbers_of_the_template_are_those_of_the_definition_and_of_the_tests() -> None:
    assert definition()["TimeoutSeconds"] == SECONDS["Machine"]
    assert SUBSTITUTIONS["WaitSeconds"] == SECONDS["Waits"]
    assert SUBSTITUTIONS["BeginSeconds"] == str(SECONDS["Begin"])
    assert SUBSTITUTIONS["LeaseSeconds"] == str(SECONDS["Lease"])
    given = RESOURCES["StateMachine"]["Properties"]["DefinitionSubstitutions"]
    assert SUBSTITUTIONS["WaitDays"] == given["WaitDays"]
    assert SUBSTITUTIONS["ClaimDays"] == str(TEMPLATE["Parameters"]["ClaimDays"]["Default"])


def test_waiting_events_are_parked_before_the_queue_deletes_them() -> None:
    """A put-back is a new message, so what bounds a wait is the machine, not the retention."""
    (kept,) = {
        queue["Properties"]["MessageRetentionPeriod"]
        for queue in of_type("AWS::SQS::Queue").values()
    }
    assert kept == 14 * DAY, "SQS's longest"
    assert int(SUBSTITUTIONS["WaitDays"]) * DAY + 3 * DAY < kept


def test_a_message_that_crashes_is_a_dead_letter_days_before_the_queue_deletes_it() -> None:
    assert QUEUE["RedrivePolicy"]["maxReceiveCount"] * SECONDS["Visibility"] < 7 * DAY


@pytest.mark.parametrize("name", ["ClaimTable", "OutcomeLogGroup", "OutcomeLogStream"])
def test_stored_state_outlives_the_stack(name: str) -> None:
    assert RESOURCES[name]["DeletionPolicy"] == "RetainExceptOnCreate", "unless it never came to be"
    assert RESOURCES[name]["UpdateReplacePolicy"] == "Retain"


def test_each_queue_and_topic_refuses_plain_http() -> None:
    covered = set()
    policies = {**of_type("AWS::SQS::QueuePolicy"), **of_type("AWS::SNS::TopicPolicy")}
    for policy in policies.values():
        properties = policy["Properties"]
        for statement in properties["PolicyDocument"]["Statement"]:
            if statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}:
                assert statement["Effect"] == "Deny"
                owners = properties.get("Queues") or properties.get("Topics")
                covered |= {owner["Ref"] for owner in owners}
    assert covered == {*of_type("AWS::SQS::Queue"), *of_type("AWS::SNS::Topic")}


@pytest.mark.parametrize("own_key", [True, False])
def test_all_that_is_kept_is_encrypted_with_the_key_that_is_given(own_key: bool) -> None:
    key = {"Ref": "KmsKeyArn"} if own_key else None
    stored = decided(RESOURCES, true={"HasKey"} if own_key else ())
    properties = {name: resource.get("Properties", {}) for name, resource in stored.items()}
    for name in of_type("AWS::SQS::Queue"):
        assert properties[name].get("KmsMasterKeyId") == key, name
        assert properties[name].get("SqsManagedSseEnabled", False) is not own_key, name
    for name in of_type("AWS::Logs::LogGroup"):
        assert properties[name].get("KmsKeyId") == key, name
        assert properties[name]["RetentionInDays"] == {"Ref": "LogRetentionDays"}, name
    assert properties["ClaimTable"]["SSESpecification"].get("KMSMasterKeyId") == key
    assert properties["EventArchive"].get("KmsKeyIdentifier") == key


def variables(package: str) -> set[str]:
    (given,) = [
        function["Properties"]["Environment"]["Variables"]
        for function in of_type("AWS::Serverless::Function").values()
        if function["Properties"]["CodeUri"] == f"functions/{package}/"
    ]
    return set(given)


class Asked(dict[str, str]):
    """An environment with nothing in it, that remembers what was looked for."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return default


def test_the_template_sets_each_setting_of_the_data_action_and_no_other() -> None:
    environment = Asked()
    Settings.read(environment)
    assert variables("data_action") == environment.names


def test_the_template_sets_each_setting_of_the_enrichment_and_no_other() -> None:
    code = "".join(
        file.read_text()
        for file in (ROOT / "functions" / "enrichment" / "once_enrichment").glob("*.py")
    )
    assert variables("enrichment") == set(re.findall(r"""environ(?:\.get\(|\[)"(\w+)""", code))


def test_nothing_has_a_physical_name_that_a_second_stack_would_share() -> None:
    """A dashboard is seen in every region, so its name holds the region too."""
    not_ours = {"EventSourceName", "EventBusName", "MetricName", "DisplayName"}
    names = {
        (name, key): str(value)
        for name, resource in RESOURCES.items()
        for key, value in resource.get("Properties", {}).items()
        if key.endswith("Name") and key not in not_ours
    }
    del names["PartnerBus", "Name"], names["OutcomeLogStream", "LogGroupName"]
    for which, value in names.items():
        assert "AWS::StackName" in value, which
    assert "${AWS::Region}" in names["Dashboard", "DashboardName"]


def test_the_outputs_are_those_that_the_commands_read() -> None:
    assert set(TEMPLATE["Outputs"]) == {
        "EventBusName", "EventRuleName", "EventArchiveArn", "EventQueueUrl", "DeadLetterQueueUrl",
        "PipeName", "MaxActionsPerMinute", "StateMachineArn", "ClaimTableName",
        "OutcomeLogGroupName", "PipeLogGroupName", "ExecutionLogGroupName",
        "EnrichmentLogGroupName", "DataActionLogGroupName", "EnrichmentFunctionName",
        "DataActionFunctionName", "PageTopicArn", "TicketTopicArn", "RedriveCommand",
        "ReplayCommand", "DashboardConsole", "StateMachineConsole",
    }  # fmt: skip
