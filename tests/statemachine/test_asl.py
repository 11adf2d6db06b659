"""The definition keeps promises that no linter checks.

What AWS says of any definition is in proof/aws."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest

from proof.definition.asl import ASL_PATH, ROOT, states

STATES = states()
TASKS = {name: state for name, state in STATES.items() if state["Type"] == "Task"}


def handlers(kind: str) -> list[tuple[str, dict[str, Any]]]:
    return [(name, rule) for name, state in STATES.items() for rule in state.get(kind, [])]


def data_action_errors() -> set[str]:
    module = ast.parse((ROOT / "functions/data_action/once_data_action/errors.py").read_text())
    return {node.name for node in module.body if isinstance(node, ast.ClassDef)}


@pytest.mark.parametrize("name", TASKS)
def test_every_task_is_bounded_and_caught(name: str) -> None:
    task = TASKS[name]
    assert isinstance(task["TimeoutSeconds"], int)
    assert task["Catch"][-1]["ErrorEquals"] == ["States.ALL"]


def test_retries_spread_out_and_are_capped() -> None:
    for name, retry in handlers("Retry"):
        if not retry["MaxAttempts"]:
            continue
        assert retry["JitterStrategy"] == "FULL", name
        assert retry["MaxDelaySeconds"] >= retry["IntervalSeconds"], name


def test_a_refused_condition_is_told_from_every_other_failure_which_is_retried() -> None:
    for name, task in TASKS.items():
        if "ConditionExpression" in task["Arguments"]:
            assert task["Retry"][-1]["ErrorEquals"] == ["States.TaskFailed", "States.Timeout"], name
    for name in ("ClaimKey", "AdvanceLatest"):
        first = STATES[name]["Catch"][0]["ErrorEquals"]
        assert first == ["DynamoDB.ConditionalCheckFailedException"]


def test_only_the_completion_write_is_tried_a_fourth_time() -> None:
    attempts = {
        name: task["Retry"][-1]["MaxAttempts"] for name, task in TASKS.items() if "Retry" in task
    }
    assert {name for name, number in attempts.items() if number > 2} == {"Processed"}


def test_after_the_act_nothing_leads_back_to_the_queue() -> None:
    assert TASKS["RunAction"]["Next"] == "Processed"
    assert TASKS["Processed"]["End"]
    (caught,) = TASKS["Processed"]["Catch"]
    assert STATES[caught["Next"]]["End"]


def test_every_choice_inside_the_map_returns_an_event_that_no_rule_takes() -> None:
    """Released or not, but never without a result: that would fail the round of all others."""
    inner = STATES["SettleEvents"]["ItemProcessor"]["States"]
    choices = {name: state for name, state in inner.items() if state["Type"] == "Choice"}
    assert {state["Default"] for state in choices.values()} == {"CloseClaim", "Returned"}
    assert STATES["EndUnacted"]["Default"] == "Returned"


def test_each_end_of_an_event_names_its_message_and_its_outcome() -> None:
    """Without its messageId the event would stay in what is left to do, and the rounds not end."""
    inner = STATES["SettleEvents"]["ItemProcessor"]["States"]
    ends = {name: state["Output"] for name, state in inner.items() if state.get("End")}
    outcomes = {}
    for name, output in ends.items():
        begins = re.fullmatch(
            r"{% \$merge\(\[\{'messageId': \$event\.messageId, "
            r"'outcome': '(\w+)'\}, \$verdict\]\) %}",
            output,
        )
        assert begins, name
        outcomes[name] = begins[1]
    assert outcomes == {
        "Processed": "PROCESSED",
        "ProcessedUnconfirmed": "PROCESSED",
        "SkipDuplicate": "DUPLICATE",
        "SkipStale": "STALE",
        "Ignored": "IGNORED",
        "Parked": "PARKED",
        "Returned": "RETRY",
    }


def test_expressions_that_the_language_service_reads_stay_on_one_line() -> None:
    """It knows no line break in these fields (aws-language-server, asl-yaml-languageservice)."""
    for name, state in STATES.items():
        for field in ("Items", "Seconds", "TimeoutSeconds", "MaxConcurrency"):
            assert "\n" not in str(state.get(field, "")), (name, field)


def test_every_error_of_the_data_action_is_handled_on_purpose() -> None:
    """A new error class must be given its own reason, or be listed here as a call that failed."""
    reasons = TASKS["RunAction"]["Catch"][-1]["Assign"]["verdict"]
    named = set(re.findall(r"'(\w+)': '[A-Z_]+'", reasons))
    failed_calls = {"Transient", "Failed", "ActionError"}
    assert data_action_errors() <= named | failed_calls
    assert named <= data_action_errors()


def test_template_and_state_machine_name_the_same_placeholders() -> None:
    template = (ROOT / "template.yaml").read_text()
    block = re.search(r"DefinitionSubstitutions:\n((?: {8}.+\n)+)", template)
    assert block is not None
    given = set(re.findall(r"^ {8}(\w+):", block[1], re.MULTILINE))
    used = set(re.findall(r"\$\{(\w+)\}", ASL_PATH.read_text()))
    assert given == used


def test_every_file_that_the_template_names_is_there() -> None:
    template = (ROOT / "template.yaml").read_text()
    for path in re.findall(r"(?:CodeUri|DefinitionUri): (\S+)", template):
        assert (ROOT / path).exists(), path
    for folder, handler in re.findall(r"CodeUri: (\S+)\n +Handler: (\S+)", template):
        module, function = handler.rsplit(".", 1)
        source = ROOT / folder / Path(*module.split(".")).with_suffix(".py")
        assert f"def {function}(" in source.read_text()
