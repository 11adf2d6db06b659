"""The template's promises: limits that end in the right order, nothing open without need."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from once.local.deploy import DURATIONS
from proof.definition.asl import ROOT, SUBSTITUTIONS, definition, states
from proof.template import RESOURCES, TEMPLATE, of_type
from proof.template.translated import Translated
from tests.template.deployments import DEPLOYMENTS, KEY

SECONDS = TEMPLATE["Mappings"]["Durations"]["Seconds"]
STATES = states()
DAY = 86_400
QUEUE = Translated({}).resources["EventQueue"]["Properties"]


@pytest.mark.parametrize("seconds", [SECONDS, DURATIONS], ids=["template", "local stack"])
def test_each_limit_ends_before_the_next_begins(seconds: dict[str, int]) -> None:
    """If a lease outlived the visibility timeout, a message whose execution died would come back to
    a claim in progress."""
    assert seconds["Call"] < seconds["Action"] < STATES["RunAction"]["TimeoutSeconds"]
    assert seconds["Begin"] + STATES["RunAction"]["TimeoutSeconds"] < seconds["Machine"]
    assert seconds["Machine"] + seconds["Action"] < seconds["Lease"]
    assert seconds["Enrichment"] + seconds["Lease"] + 30 < seconds["Visibility"]


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
    assert QUEUE["VisibilityTimeout"] == SECONDS["Visibility"]
    assert SUBSTITUTIONS["WaitSeconds"] == SECONDS["Waits"]
    assert SUBSTITUTIONS["BeginSeconds"] == str(SECONDS["Begin"])
    assert SUBSTITUTIONS["LeaseSeconds"] == str(SECONDS["Lease"])
    given = RESOURCES["StateMachine"]["Properties"]["DefinitionSubstitutions"]
    assert SUBSTITUTIONS["WaitDays"] == given["WaitDays"]
    assert SUBSTITUTIONS["ClaimDays"] == str(TEMPLATE["Parameters"]["ClaimDays"]["Default"])


def test_waiting_and_crashing_messages_leave_the_queue_before_it_deletes_them() -> None:
    """A put-back is a new message, so what bounds a wait is the machine, not the retention."""
    (kept,) = {
        queue["Properties"]["MessageRetentionPeriod"]
        for queue in of_type("AWS::SQS::Queue").values()
    }
    assert kept == 14 * DAY, "SQS's longest"
    assert int(SUBSTITUTIONS["WaitDays"]) * DAY + 3 * DAY < kept
    assert QUEUE["RedrivePolicy"]["maxReceiveCount"] * QUEUE["VisibilityTimeout"] < 7 * DAY


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


@pytest.mark.parametrize(("name", "key"), [("archive of a source", KEY), ("archive", None)])
def test_all_that_is_kept_is_encrypted_with_the_key_that_is_given(
    name: str, key: str | None
) -> None:
    deployed = DEPLOYMENTS[name]
    for queue in deployed.of_type("AWS::SQS::Queue").values():
        assert queue.get("KmsMasterKeyId") == key
        assert queue.get("SqsManagedSseEnabled", False) is (key is None)
    for group in deployed.of_type("AWS::Logs::LogGroup").values():
        assert group.get("KmsKeyId") == key
        assert group["RetentionInDays"] == TEMPLATE["Parameters"]["LogRetentionDays"]["Default"]
    (table,) = deployed.of_type("AWS::DynamoDB::Table").values()
    assert table["SSESpecification"].get("KMSMasterKeyId") == key


@pytest.mark.parametrize("package", ["enrichment", "data_action"])
def test_the_template_sets_each_setting_that_a_function_reads_and_no_other(package: str) -> None:
    (given,) = [
        function["Properties"]["Environment"]["Variables"]
        for function in of_type("AWS::Serverless::Function").values()
        if function["Properties"]["CodeUri"] == f"functions/{package}/"
    ]
    files = (ROOT / "functions" / package / f"once_{package}").glob("*.py")
    code = "".join(file.read_text() for file in files)
    assert set(given) == set(re.findall(r"""\benviron(?:ment)?(?:\.get\(|\[)"(\w+)""", code))


def physical_names(deployed: Translated) -> set[str]:
    return {
        str(value)
        for resource in deployed.resources.values()
        for field, value in resource["Properties"].items()
        if field in ("Name", "AlarmName", "DashboardName", "LogGroupName", "StateMachineName")
        and not isinstance(value, dict)
    }


def test_no_physical_name_is_shared_with_another_stack_or_region() -> None:
    ours = Translated({})
    assert len(physical_names(ours)) > 12
    assert not physical_names(ours) & physical_names(Translated({}, stack="other"))
    board, other = (
        one.resources["Dashboard"]["Properties"]["DashboardName"]
        for one in (ours, Translated({}, region="eu-west-1"))
    )
    assert board != other, "a dashboard is seen in every region"


def test_commands_read_outputs_that_the_template_has() -> None:
    code = "".join(file.read_text() for file in (ROOT / "once").rglob("*.py"))
    read = set(re.findall(r"""outputs(?:\.get\(|\[)"(\w+)\"""", code))
    assert len(read) > 8
    assert read <= TEMPLATE["Outputs"].keys()
