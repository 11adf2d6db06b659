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
    "aws-sdk:sqs": ("sqs", "Sqs"),
    "aws-sdk:cloudwatchlogs": ("logs", "CloudWatchLogs"),
}
# Any AWS API can answer with these, whether or not its model lists them.
COMMON_ERRORS = {"ThrottlingException", "InternalServerError", "RequestLimitExceeded"}
LAMBDA_ERRORS = {
    "Lambda.ClientExecutionTimeoutException",
    "Lambda.ServiceException",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
    "Lambda.TooManyRequestsException",
}
STEP_FUNCTIONS_ERRORS = {"States.ALL", "States.TaskFailed", "States.Timeout"}


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
        assert retry["JitterStrategy"] == "FULL", name
        assert retry["MaxDelaySeconds"] >= retry["IntervalSeconds"], name


def test_states_that_do_the_same_retry_the_same() -> None:
    """Reads and writes of a claim share one retry; only the mark after the act tries once more."""
    by_service: dict[str, list[dict[str, Any]]] = {}
    for task in TASKS.values():
        for retry in task.get("Retry", []):
            by_service.setdefault(integration(task)[0], []).append(retry)
    for service in ("dynamodb", "sqs"):
        shapes = {str({**retry, "MaxAttempts": 0}) for retry in by_service[service]}
        assert len(shapes) == 1, service
    assert TASKS["CompleteClaim"]["Retry"][0]["MaxAttempts"] == 3


def test_a_refused_condition_is_caught_and_never_retried() -> None:
    for name, retry in handlers("Retry"):
        assert not any("ConditionalCheckFailed" in error for error in retry["ErrorEquals"]), name
        if "States.TaskFailed" in retry["ErrorEquals"]:
            assert "ConditionExpression" not in str(STATES[name]["Arguments"]), name
    for name in ("ClaimKey", "AdvanceLatest"):
        first = STATES[name]["Catch"][0]["ErrorEquals"]
        assert first == ["DynamoDB.ConditionalCheckFailedException"]


def test_every_error_named_can_occur() -> None:
    session = botocore.session.get_session()
    for kind in ("Retry", "Catch"):
        for name, rule in handlers(kind):
            possible = set(STEP_FUNCTIONS_ERRORS)
            task = STATES[name]
            if task["Type"] == "Task":
                service, action, prefix = integration(task)
                operation = session.get_service_model(service).operation_model(
                    action[0].upper() + action[1:]
                )
                names = {shape.name for shape in operation.error_shapes} | COMMON_ERRORS
                possible |= {f"{prefix}.{error}" for error in names}
                if service == "lambda":
                    possible |= LAMBDA_ERRORS | data_action_errors()
            assert set(rule["ErrorEquals"]) <= possible, (name, kind)


def test_the_call_that_may_be_made_once_differs_in_nothing_but_its_patience() -> None:
    often, once = TASKS["RunAction"], TASKS["RunActionOnce"]
    assert "Retry" not in once
    payloads = [{**task["Arguments"]["Payload"], "attempt": 0} for task in (often, once)]
    assert payloads[0] == payloads[1]
    ways = [
        [(rule["ErrorEquals"], rule["Next"], rule["Assign"]["verdict"]) for rule in task["Catch"]]
        for task in (often, once)
    ]
    assert ways[0][0][0] == ways[1][0][0] == ["RateLimited"]
    assert ways[0][1:] == ways[1][1:]


def test_every_error_of_the_data_action_is_handled_on_purpose() -> None:
    """A new error class must be given its own way, or be listed here as one that just retries."""
    caught = {error for rule in TASKS["RunAction"]["Catch"] for error in rule["ErrorEquals"]}
    retried = set(TASKS["RunAction"]["Retry"][0]["ErrorEquals"])
    falls_to_release = {"TooLate", "ActionError"}
    assert data_action_errors() <= caught | retried | falls_to_release


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
    inner = machine["States"]["SettleLanes"]["ItemProcessor"]["States"]
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
