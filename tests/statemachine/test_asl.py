"""What no linter sees: the state machine's names, limits and errors, held against what AWS has."""

import ast
import re
from pathlib import Path
from typing import Any

import botocore.session
import pytest

from proof.definition.asl import ASL_PATH, ROOT, definition, states, strings

STATES = states()
TASKS = {name: state for name, state in STATES.items() if state["Type"] == "Task"}

# Integration → botocore's service, and the prefix its errors carry. Step Functions spells the
# optimised DynamoDB integration's prefix differently from the SDK one's (DynamoDb).
INTEGRATIONS = {
    "dynamodb": ("dynamodb", "DynamoDB"),
    "sqs": ("sqs", "SQS"),
    "lambda": ("lambda", "Lambda"),
    "aws-sdk:cloudwatchlogs": ("logs", "CloudWatchLogs"),
}
# The optimised integrations name an error by the class of the Java SDK v1, not by the service's
# code, and most codes have no class of their own. So nothing may rest on a name but on these.
NAMES_THAT_COME = {
    # Recorded on AWS: test_task_service_dynamodb of LocalStack (aws.validated snapshots).
    "DynamoDB.ConditionalCheckFailedException",
    # docs.aws.amazon.com/lambda/latest/dg/API_Invoke.html; the integration passes its name on.
    "Lambda.TooManyRequestsException",
    # docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html
    "States.ALL",
    "States.DataLimitExceeded",
    "States.TaskFailed",
    "States.Timeout",
}


def integration(task: dict[str, Any]) -> tuple[str, str, str]:
    """Botocore's service, the API action, and the prefix of its errors."""
    name, action = task["Resource"].removeprefix("arn:aws:states:::").rsplit(":", 1)
    service, prefix = INTEGRATIONS[name]
    return service, action, prefix


def handlers(kind: str) -> list[tuple[str, dict[str, Any]]]:
    return [(name, rule) for name, state in STATES.items() for rule in state.get(kind, [])]


def data_action_errors() -> set[str]:
    module = ast.parse((ROOT / "functions/data_action/data_action/errors.py").read_text())
    return {node.name for node in module.body if isinstance(node, ast.ClassDef)}


@pytest.mark.parametrize("name", TASKS)
def test_every_task_is_bounded_and_caught(name: str) -> None:
    task = TASKS[name]
    assert isinstance(task["TimeoutSeconds"], int)
    assert task["Catch"][-1]["ErrorEquals"] == ["States.ALL"]


@pytest.mark.parametrize("kind", ["Retry", "Catch"])
def test_states_all_stands_alone_and_last(kind: str) -> None:
    for name, state in STATES.items():
        rules = [rule["ErrorEquals"] for rule in state.get(kind, [])]
        for position, errors in enumerate(rules):
            if "States.ALL" in errors:
                assert errors == ["States.ALL"], name
                assert position == len(rules) - 1, name


def test_retries_spread_out_and_are_capped() -> None:
    for name, retry in handlers("Retry"):
        if not retry["MaxAttempts"]:
            continue
        assert retry["JitterStrategy"] == "FULL", name
        assert retry["MaxDelaySeconds"] >= retry["IntervalSeconds"], name


def test_a_refused_condition_is_never_retried_and_every_other_failure_is() -> None:
    """Retriers come before catchers, so States.TaskFailed alone would repeat a refusal."""
    for name, task in TASKS.items():
        if "ConditionExpression" not in task["Arguments"]:
            continue
        first, second = task["Retry"]
        assert first == {
            "ErrorEquals": ["DynamoDB.ConditionalCheckFailedException"],
            "MaxAttempts": 0,
        }, name
        assert second["ErrorEquals"] == ["States.TaskFailed", "States.Timeout"], name
    for name in ("ClaimKey", "AdvanceLatest"):
        first = STATES[name]["Catch"][0]["ErrorEquals"]
        assert first == ["DynamoDB.ConditionalCheckFailedException"]


def test_only_the_mark_after_the_act_is_tried_once_more() -> None:
    attempts = {
        name: task["Retry"][-1]["MaxAttempts"] for name, task in TASKS.items() if "Retry" in task
    }
    assert {name for name, number in attempts.items() if number > 2} == {"CompleteClaim"}


def test_every_error_named_is_one_that_comes() -> None:
    for kind in ("Retry", "Catch"):
        for name, rule in handlers(kind):
            possible = NAMES_THAT_COME | (data_action_errors() if name == "RunAction" else set())
            assert set(rule["ErrorEquals"]) <= possible, (name, kind)


def test_after_the_act_nothing_leads_back_to_the_queue() -> None:
    for name in ("CompleteClaim", "CloseParked"):
        task = TASKS[name]
        (only,) = {task["Next"], *(rule["Next"] for rule in task["Catch"])}
        assert STATES[only]["End"], name
    assert TASKS["RunAction"]["Next"] == "CompleteClaim"


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
        "SkipDuplicate": "DUPLICATE",
        "SkipStale": "STALE",
        "Parked": "PARKED",
        "HandBack": "RETRY",
    }


def test_no_choice_assigns_where_the_documentation_contradicts_itself() -> None:
    """Whether a Choice's own Assign runs when a rule has matched: two sections of state-choice.html
    say no and yes. An Assign of the rule itself is beyond doubt."""
    assert [
        name
        for name, state in STATES.items()
        if state["Type"] in ("Choice", "Wait") and "Assign" in state
    ] == []


def test_what_the_language_service_reads_stays_on_one_line() -> None:
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


@pytest.mark.parametrize("name", TASKS)
def test_every_argument_exists_in_the_api(name: str) -> None:
    task = TASKS[name]
    service, action, _ = integration(task)
    model = botocore.session.get_session().get_service_model(service)
    shape = model.operation_model(action[0].upper() + action[1:]).input_shape
    assert shape is not None
    # The SDK integrations spell every member in PascalCase, whatever the API does.
    members = {member[0].upper() + member[1:] for member in shape.members}
    assert set(task["Arguments"]) <= members
    assert {member[0].upper() + member[1:] for member in shape.required_members} <= set(
        task["Arguments"]
    )


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


def test_expressions_do_not_depend_on_the_order_of_their_siblings() -> None:
    """AWS evaluates all of an Assign against the old variables, ministack one after the other."""
    for name, state in STATES.items():
        assigns = [state.get("Assign", {})]
        assigns += [rule.get("Assign", {}) for rule in state.get("Catch", [])]
        assigns += [rule.get("Assign", {}) for rule in state.get("Choices", [])]
        for assign in assigns:
            done: set[str] = set()
            for variable, value in assign.items():
                read = {word for text in strings(value) for word in re.findall(r"\$(\w+)", text)}
                assert not read & done, (name, variable)
                done.add(variable)


def test_inner_variables_never_shadow_outer_ones() -> None:
    def assigned(level: dict[str, Any]) -> set[str]:
        return {
            variable
            for state in level.values()
            for holder in (state, *state.get("Catch", []), *state.get("Choices", []))
            for variable in holder.get("Assign", {})
        }

    machine = definition()
    inner = machine["States"]["SettleEvents"]["ItemProcessor"]["States"]
    assert not assigned(machine["States"]) & assigned(inner)


def test_every_state_can_be_reached_and_every_target_exists() -> None:
    def check(level: dict[str, Any], start: str) -> None:
        reached, todo = set(), [start]
        while todo:
            name = todo.pop()
            if name in reached:
                continue
            reached.add(name)
            state = level[name]
            nexts = [state.get("Next"), state.get("Default")]
            nexts += [rule["Next"] for rule in state.get("Catch", []) + state.get("Choices", [])]
            todo += [target for target in nexts if target]
            if "ItemProcessor" in state:
                check(state["ItemProcessor"]["States"], state["ItemProcessor"]["StartAt"])
        assert reached == set(level)

    machine = definition()
    check(machine["States"], machine["StartAt"])
