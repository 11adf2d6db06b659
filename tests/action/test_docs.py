"""docs/data-action.md says what the code does."""

import json
import re
from pathlib import Path
from typing import Any

import boto3
import pytest
from once_data_action import eventbridge, user_function
from once_data_action.action import ActionTarget
from once_data_action.outbound import error_of
from once_data_action.request import WebhookRequest
from pydantic import TypeAdapter

from tests.action.support import aws_error

TEXT = (Path(__file__).parents[2] / "docs" / "data-action.md").read_text("utf-8")


def rows(heading: str) -> list[list[str]]:
    """Returns the cells of the table whose first line begins with this heading."""
    table = TEXT[TEXT.index(f"\n{heading}") :].strip().split("\n\n")[0]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table.split("\n")[2:]]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)


def codes(heading: str) -> dict[str, str]:
    """Returns the class that the table names for each code."""
    *named, (rest, _) = rows(heading)
    assert rest.startswith("any other")
    return {code: row[1].split("`")[1] for row in named for code in re.findall(r"`(\w+)`", row[0])}


def test_every_target_is_documented() -> None:
    documented = {row[0].strip("`") for row in rows("| `ActionTarget`")}
    assert documented == set(ActionTarget.__args__)  # type: ignore[attr-defined]


def test_every_status_has_the_error_that_is_documented() -> None:
    named: dict[int, str] = {}
    for response, error in rows("| response | error"):
        wanted = re.match(r"`(\w+)`", error)
        statuses = re.fullmatch(r"(?:other )?([\d, -]+)", response)
        if not wanted or not statuses:
            continue
        for part in statuses[1].split(", "):
            first, _, last = part.partition("-")
            for status in range(int(first), int(last or first) + 1):
                named.setdefault(status, wanted[1])
    assert set(named) == set(range(300, 600))
    errors_of = {status: error_of(status, None) for status in named}
    found = {error.status: type(error).__name__ for error in errors_of.values()}
    assert found == named, "docs/data-action.md: the table of responses"


def test_every_code_of_a_bus_has_the_error_that_is_documented() -> None:
    documented = codes("| error code of `PutEvents`")
    assert {code: type(eventbridge._error_of(code)).__name__ for code in documented} == documented
    listed = {*eventbridge._DENIED, *eventbridge._INVALID, "ThrottlingException"}
    assert listed - {"RequestEntityTooLargeException"} <= documented.keys()


def test_every_code_of_lambda_has_the_error_that_is_documented() -> None:
    documented = codes("| Lambda refuses")
    found = {code: type(user_function._refusal(aws_error(code))).__name__ for code in documented}
    assert found == documented
    listed = {*user_function._DENIED, *user_function._MISSING, *user_function._TOO_LARGE}
    assert listed < documented.keys()


def test_every_code_of_lambda_is_one_that_invoke_has() -> None:
    client = boto3.client("lambda", region_name="eu-central-1")
    shapes = client.meta.service_model.operation_model("Invoke").error_shapes
    listed = {*user_function._MISSING, *user_function._TOO_LARGE, "EC2AccessDeniedException"}
    assert listed <= {shape.name for shape in shapes}


def test_documented_webhook_is_the_shape_in_code() -> None:
    (example,) = (json.loads(block) for block in blocks("json"))
    TypeAdapter(WebhookRequest).validate_python(example)
    fields = TypeAdapter(WebhookRequest).json_schema()["properties"].keys()
    assert example.keys() == fields, "docs/data-action.md: the example of the webhook"


def test_documented_function_acts_once_and_names_its_wait(aws: pytest.MonkeyPatch) -> None:
    aws.setenv("TABLE", "acted")
    (code,) = blocks("python")
    example: dict[str, Any] = {}
    exec(code, example)  # noqa: S102 - the example of the page
    event = json.loads(blocks("json")[0])
    dynamodb = boto3.client("dynamodb")
    dynamodb.create_table(
        TableName="acted",
        KeySchema=[{"AttributeName": "idempotencyKey", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "idempotencyKey", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    for _ in range(2):
        example["handler"](event, None)
    assert dynamodb.scan(TableName="acted")["Count"] == 1
    raised = example["RateLimited"]('{"retryAfterSeconds": 20}')
    content = json.dumps({"errorType": type(raised).__name__, "errorMessage": str(raised)})
    error = user_function._error_of(content.encode())
    assert (error.reason, error.retry_after_seconds) == ("RATE_LIMITED", 20)
