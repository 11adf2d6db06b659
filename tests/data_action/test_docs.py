"""docs/data-action.md says what the code and the state machine do."""

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import boto3
import pytest
from data_action import errors, mapping
from data_action.replies import error_of
from data_action.request import WebhookRequest
from moto import mock_aws
from pydantic import TypeAdapter

from once.genesys.script import Script
from tests.data_action.support import MAPPING, now_ms, payload

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "data-action.md").read_text("utf-8")
ERRORS = {error.__name__ for error in errors.ActionError.__subclasses__()}


def rows(heading: str) -> list[list[str]]:
    """The cells of the table whose first line begins with this heading."""
    table = TEXT[TEXT.index(f"\n{heading}") :].strip().split("\n\n")[0]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in table.split("\n")[2:]]


def run_action() -> tuple[dict[str, object], str]:
    text = (ROOT / "statemachine" / "dedupe.asl.yaml").read_text("utf-8")

    def find(node: object) -> Iterator[dict[str, object]]:
        if isinstance(node, dict):
            if "RunAction" in node:
                yield node["RunAction"]
            for child in node.values():
                yield from find(child)
        elif isinstance(node, list):
            for child in node:
                yield from find(child)

    (state,) = find(json.loads(text))
    return state, text


def test_every_error_has_its_way_through_the_state_machine() -> None:
    state, text = run_action()
    table = {row[0].strip("`"): row[1:] for row in rows("| error | asked again")}
    assert table.keys() == ERRORS
    for name, (again, then, outcome) in table.items():
        catch = next(c for c in state["Catch"] if {name, "States.ALL"} & set(c["ErrorEquals"]))
        verdict = catch["Assign"]["verdict"]
        assert then == f"`{catch['Next']}`", name
        assert outcome == f"`{verdict['outcome']}`, `{verdict['reason']}`", name
        retry = next((r for r in state["Retry"] if name in r["ErrorEquals"]), None)
        if retry:
            assert again == (
                f"{retry['MaxAttempts']} times, {retry['IntervalSeconds']} s doubling to "
                f"{retry['MaxDelaySeconds']} s, jittered"
            )
            assert retry["BackoffRate"] == 2
            assert retry["JitterStrategy"] == "FULL"
        elif name == "RateLimited":
            times, seconds = re.fullmatch(r"(\d) times, waits up to (\d+) s", again).groups()
            assert f"$waits <= {times} and $waitSeconds <= {seconds}" in text
        else:
            assert again == "no", name


def test_every_status_has_the_error_that_is_documented() -> None:
    table = rows("| answer | error")
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


def test_the_sources_of_the_mapping_are_documented() -> None:
    listed = re.findall(r"`([^`]+)`", "".join(row[0] for row in rows("| in `[inputs]`")))
    inputs = "\n".join(f'i{n} = "{source}"' for n, source in enumerate(listed))
    assert mapping.check(f'[actions]\n"*" = "a"\n[inputs]\n{inputs}\n') == []
    assert set(listed) >= mapping._SOURCES - {"body"}


def test_the_documented_webhook_is_the_shape_in_code() -> None:
    example = next(json.loads(b) for b in blocks() if '"idempotencyKey": "9f2c' in b)
    TypeAdapter(WebhookRequest).validate_python(example)
    assert example.keys() == TypeAdapter(WebhookRequest).json_schema()["properties"].keys()


def test_the_documented_script_is_read() -> None:
    example = next(json.loads(block) for block in blocks() if '"rules"' in block)
    assert len(Script.read(example).rules) == 3


def blocks() -> list[str]:
    return re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)


def test_the_default_of_the_parameter_is_the_mapping_we_ship() -> None:
    template = (ROOT / "template.yaml").read_text("utf-8")
    default = re.search(r"\n  ActionMapping:\n(?:    .*\n)*?    Default: (\S+)\n", template)
    assert default
    assert default[1] == MAPPING.name


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
    ("table", "left_ms", "wanted"), [("gone", 1_000, "NotConfigured"), ("acted", -1, "TooLate")]
)
def test_the_example_lambda_raises_the_names_of_the_contract(
    own_lambda: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    table: str,
    left_ms: int,
    wanted: str,
) -> None:
    assert wanted in ERRORS
    monkeypatch.setenv("TABLE", table)
    with pytest.raises(getattr(own_lambda, wanted)):
        own_lambda.handler(payload(deadlineMs=now_ms() + left_ms), None)
