"""The definition keeps promises that no linter checks."""

import re
from typing import Any

import botocore.session
import pytest
from once_data_action.errors import Verdict

from proof.definition.asl import ASL_PATH, SUBSTITUTIONS, states

STATES = states()
TASKS = {name: state for name, state in STATES.items() if state["Type"] == "Task"}
MOST_STATES = 25


def handlers(kind: str) -> list[tuple[str, dict[str, Any]]]:
    return [(name, rule) for name, state in STATES.items() for rule in state.get(kind, [])]


def targets(name: str) -> set[str]:
    """Returns every state that may follow one."""
    state = STATES[name]
    rules = [state, *state.get("Choices", []), *state.get("Catch", [])]
    return {rule[field] for rule in rules for field in ("Next", "Default") if field in rule}


def reachable(name: str) -> set[str]:
    found: set[str] = set()
    left = {name}
    while left:
        found |= left
        left = set().union(*map(targets, left)) - found
    return found


def test_the_machine_stays_small() -> None:
    assert len(STATES) <= MOST_STATES


@pytest.mark.parametrize("name", TASKS)
def test_every_task_is_bounded(name: str) -> None:
    assert isinstance(TASKS[name]["TimeoutSeconds"], int)


@pytest.mark.parametrize("name", sorted(TASKS.keys() - {"PutBack"}))
def test_every_task_but_the_put_back_is_caught(name: str) -> None:
    assert TASKS[name]["Catch"][-1]["ErrorEquals"] == ["States.ALL"]


def test_a_put_back_that_fails_fails_the_execution() -> None:
    """Its message would be deleted otherwise."""
    assert "Catch" not in TASKS["PutBack"]


def test_nothing_after_the_put_back_sends_a_message_or_fails_the_execution() -> None:
    after = reachable("PutBack") - {"PutBack"}
    assert after == {"HasClaim", "CloseClaim", "RecordOutcome", "Unrecorded"}


def test_after_the_act_nothing_leads_back_to_the_queue() -> None:
    assert reachable("Processed") == {"Processed", "RecordOutcome", "Unrecorded"}


def test_every_choice_ends_with_a_default() -> None:
    choices = {name: state for name, state in STATES.items() if state["Type"] == "Choice"}
    assert {name: state["Default"] for name, state in choices.items()} == {
        "MayClaim": "ClaimKey",
        "JudgeClaim": "PutBack",
        "MayAct": "RunAction",
        "HasActed": "PutBack",
        "HasClaim": "CloseClaim",
    }


def test_retries_spread_out() -> None:
    for name, retry in handlers("Retry"):
        assert not retry["MaxAttempts"] or retry["JitterStrategy"] == "FULL", name


def test_a_refused_condition_is_told_from_every_other_failure_which_is_retried() -> None:
    for name, task in TASKS.items():
        if "ConditionExpression" in task["Arguments"]:
            refused, others = task["Retry"]
            assert refused["ErrorEquals"] == ["DynamoDB.ConditionalCheckFailedException"], name
            assert others["ErrorEquals"] == ["States.TaskFailed", "States.Timeout"], name
    for name in ("ClaimKey", "AdvanceLatest", "NoteBreak"):
        first = STATES[name]["Catch"][0]["ErrorEquals"]
        assert first == ["DynamoDB.ConditionalCheckFailedException"]


def test_only_the_completion_write_is_tried_a_fourth_time() -> None:
    attempts = {name: retry["MaxAttempts"] for name, retry in handlers("Retry")}
    assert {name for name, number in attempts.items() if number > 2} == {"Processed"}


@pytest.mark.parametrize("name", TASKS)
def test_every_parameter_is_one_of_its_operation_and_none_is_missing(name: str) -> None:
    """Step Functions drops a parameter of SendMessage that it does not know, without an error: a
    misspelt DelaySeconds would be a message that comes back at once, for ever."""
    *_, service, operation = TASKS[name]["Resource"].split(":")
    model = botocore.session.get_session().get_service_model(SERVICES.get(service, service))
    operations = {each.lower(): each for each in model.operation_names}
    shape = model.operation_model(operations[operation.lower()]).input_shape
    assert shape is not None
    given = {argument.lower() for argument in TASKS[name]["Arguments"]}
    assert given <= {member.lower() for member in shape.members}
    assert given >= {member.lower() for member in shape.required_members}


SERVICES = {"cloudwatchlogs": "logs"}


def test_parameters_on_which_a_promise_rests_are_given() -> None:
    with_parameter = {
        parameter: {name for name, task in TASKS.items() if task["Arguments"].get(parameter)}
        for parameter in ("ReturnValues", "DelaySeconds", "Payload", "ConsistentRead")
    }
    assert with_parameter == {
        "ReturnValues": {"ClaimKey", "AdvanceLatest"},
        "DelaySeconds": {"PutBack"},
        "Payload": {"RunAction"},
        "ConsistentRead": {"ReadClaim", "ReadLatest", "ReadPredecessor"},
    }


def test_every_value_and_name_of_a_write_is_used_and_given() -> None:
    """DynamoDB refuses a write that gives more or fewer."""
    for name, task in TASKS.items():
        given = task["Arguments"]
        text = " ".join(
            given.get(field, "") for field in ("UpdateExpression", "ConditionExpression")
        )
        assert (
            set(re.findall(r":\w+", text)) == given.get("ExpressionAttributeValues", {}).keys()
        ), name
        assert set(re.findall(r"#\w+", text)) == given.get("ExpressionAttributeNames", {}).keys(), (
            name
        )


def test_expressions_that_the_language_service_reads_stay_on_one_line() -> None:
    """It knows no line break in these fields (aws-language-server, asl-yaml-languageservice)."""
    for name, state in STATES.items():
        for field in ("Seconds", "TimeoutSeconds"):
            assert "\n" not in str(state.get(field, "")), (name, field)


def test_every_verdict_of_the_data_action_is_caught() -> None:
    caught = {name for rule in TASKS["RunAction"]["Catch"] for name in rule["ErrorEquals"]}
    own = {name for name in caught if "." not in name}
    assert own == {kind.__name__ for kind in Verdict.__subclasses__()}


def test_the_definition_names_the_placeholders_that_are_filled_in() -> None:
    used = set(re.findall(r"\$\{(\w+)\}", ASL_PATH.read_text("utf-8")))
    assert used == SUBSTITUTIONS.keys()
