"""docs/data-action.md says what the code and the state machine do."""

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import boto3
import pytest
from moto import mock_aws
from once_data_action import errors, eventbridge
from once_data_action.replies import error_of
from once_data_action.request import WebhookRequest
from pydantic import TypeAdapter

from once.genesys.script import Script
from tests.data_action.support import Bench, aws_error, now_ms, payload, read_error

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "data-action.md").read_text("utf-8")
ERRORS = {error.__name__ for error in errors.ActionError.__subclasses__()}


def rows(heading: str) -> list[list[str]]:
    """The cells of the table whose first line begins with this heading."""
    table = TEXT[TEXT.index(f"\n{heading}") :].strip().split("\n\n")[0]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table.split("\n")[2:]]


MACHINE = ROOT / "statemachine" / "dedupe.asl.yaml"


def test_every_error_is_documented() -> None:
    assert {row[0].strip("`") for row in rows("| error | second request")} == ERRORS


@pytest.mark.skipif(not MACHINE.exists(), reason="for the state machine of this contract")
def test_every_error_has_its_way_through_the_state_machine() -> None:
    text = " ".join(MACHINE.read_text("utf-8").split())
    named = dict(re.findall(r"'(\w+)': '(\w+)'", text))
    for cell, again, outcome in rows("| error | second request"):
        name = cell.strip("`")
        reason = re.findall(r"`(\w+)`", outcome)[1]
        assert named.get(name, "CALL_FAILED") == reason, name
        assert ("ErrorEquals: [Transient]" in text) == again.startswith("after") or again == "no"


def test_every_status_has_the_error_that_is_documented() -> None:
    table = rows("| response | error")
    named: dict[int, str] = {}
    for answer, error in table:
        wanted = re.match(r"`(\w+)`", error)
        statuses = re.fullmatch(r"(?:other )?([\d, -]+)", answer)
        if not wanted or not statuses:
            continue
        for part in statuses[1].split(", "):
            first, _, last = part.partition("-")
            for status in range(int(first), int(last or first) + 1):
                named.setdefault(status, wanted[1])
    assert set(named) == set(range(300, 600))
    assert {status: type(error_of(status, None)).__name__ for status in named} == named


def test_every_error_code_of_a_bus_has_the_error_that_is_documented() -> None:
    *named, (rest, _) = rows("| error code of `PutEvents`")
    assert rest.startswith("any other")
    documented = {code: row[1] for row in named for code in re.findall(r"`(\w+)`", row[0])}
    found = {code: f"`{type(eventbridge._error_of(code)).__name__}`" for code in documented}
    assert {code: error.partition(",")[0] for code, error in documented.items()} == found
    listed = {*eventbridge._DENIED, *eventbridge._INVALID, "ThrottlingException"}
    assert listed - {"RequestEntityTooLargeException"} <= documented.keys()


def test_the_documented_webhook_is_the_shape_in_code() -> None:
    example = next(json.loads(b) for b in blocks() if '"idempotencyKey": "9f2c' in b)
    TypeAdapter(WebhookRequest).validate_python(example)
    assert example.keys() == TypeAdapter(WebhookRequest).json_schema()["properties"].keys()


def test_the_documented_request_and_answer_are_those_of_the_code(webhook_action: Bench) -> None:
    request, answer = (json.loads(block) for block in blocks() if '"version": "2"' in block)
    sent = payload(deadlineMs=1, pace={"readMs": 1, "since": 1})
    assert request.keys() == sent.keys()
    assert answer.keys() == webhook_action.call().keys()


def test_the_documented_error_is_read_as_ours_are() -> None:
    (text,) = (block for block in blocks() if '"sentence"' in block)
    facts = {row[0] for row in rows("| fact |")}
    named = {name for names in facts for name in re.findall(r"`(\w+)`", names)}
    assert read_error(Exception(text.strip())).keys() < named
    assert named == read_error(_full_error()).keys()


def _full_error() -> errors.ActionError:
    error = errors.RateLimited("full", status=429, retry_after_seconds=5)
    error.ended_ms, error.duration_ms = 1, 1
    return error


def test_the_documented_script_is_read() -> None:
    example = next(json.loads(block) for block in blocks() if '"rules"' in block)
    assert len(Script.read(example).rules) == 3


def blocks() -> list[str]:
    return re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def own_lambda(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    path = ROOT / "docs" / "examples" / "own_data_action.py"
    spec = importlib.util.spec_from_file_location("own_data_action", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name, value in {
        "AWS_DEFAULT_REGION": "eu-central-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "TABLE": "acted",
    }.items():
        monkeypatch.setenv(name, value)
    with mock_aws():
        boto3.client("dynamodb").create_table(
            TableName="acted",
            KeySchema=[{"AttributeName": "idempotencyKey", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "idempotencyKey", "AttributeType": "S"}],
            BillingMode="PAY_PER_REQUEST",
        )
        yield module


def test_the_example_lambda_acts_once_for_a_key(own_lambda: ModuleType) -> None:
    for _ in range(2):
        answer = own_lambda.handler(payload(deadlineMs=now_ms() + 1_000), None)
        assert answer["result"] == "ACTED"
    assert boto3.client("dynamodb").scan(TableName="acted")["Count"] == 1


@pytest.mark.parametrize(
    ("table", "changes", "wanted", "requests"),
    [
        ("gone", {}, "NotConfigured", 1),
        ("acted", {"deadlineMs": 1}, "TooLate", 0),
        ("acted", {"deadlineMs": 1, "retry": 1}, "Failed", 1),
        ("x", {}, "Transient", 1),
        ("x", {"requestsAllowed": 1}, "Failed", 1),
        ("x", {"retry": 1}, "Failed", 2),
    ],
)
def test_the_example_lambda_raises_the_errors_of_the_contract(
    own_lambda: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    table: str,
    changes: dict[str, int],
    wanted: str,
    requests: int,
) -> None:
    assert wanted in ERRORS
    monkeypatch.setenv("TABLE", table)
    if table == "x":
        monkeypatch.setattr(own_lambda.boto3, "client", lambda *_, **__: BrokenTable())
    with pytest.raises(getattr(own_lambda, wanted)) as raised:
        own_lambda.handler(payload(**{"deadlineMs": now_ms() + 5_000} | changes), None)
    read = read_error(raised.value)
    assert read["requests"] == requests
    assert ("endedMs" in read) == ("deadlineMs" not in changes)


class BrokenTable:
    def put_item(self, **_: object) -> None:
        raise aws_error("InternalServerError", 500)
