"""The function that stands in for a destination, by the contract of docs/data-action.md."""

import importlib
import time
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from once.errors import OnceError
from proof.prove import sink as asked

FAILS, SLOW, PLAIN = ("0000" + "a" * 60, "0001" + "a" * 60, "0002" + "a" * 60)


class Table:
    """Rows of sets, as UpdateItem adds to them."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, set[str]]] = {}

    def update_item(self, **request: Any) -> Any:
        row = self.rows.setdefault(request["Key"]["key"]["S"], {})
        name = request["ExpressionAttributeNames"]["#what"]
        noted = row.setdefault(name, set())
        noted.update(request["ExpressionAttributeValues"][":call"]["SS"])
        return {"Attributes": {name: {"SS": sorted(noted)}}}

    def acts(self, key: str) -> int:
        return len(self.rows.get(key, {}).get("acts", ()))


@pytest.fixture
def sink(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("TABLE", "once-prove-test-sink")
    module = importlib.import_module("proof.prove.sink_function")
    monkeypatch.setattr(module, "_DYNAMODB", Table())
    monkeypatch.setattr(module, "_SLOW_SECONDS", 0)
    return module


def request(key: str, execution: str, retry: int = 0, seconds: float = 9) -> dict[str, Any]:
    return {
        "idempotencyKey": key,
        "event": {"key": {"pk": "o/check/s", "sk": "v1/f/i"}},
        "retry": retry,
        "execution": execution,
        "deadlineMs": (time.time() + seconds) * 1_000,
    }


@pytest.mark.parametrize("key", [SLOW, PLAIN])
def test_a_key_that_is_called_twice_has_acted_twice(sink: Any, key: str) -> None:
    answer = sink.handler(request(key, "run-1#m1"), None)
    assert answer == {"version": "2", "result": "ACTED", "requests": 1}
    sink.handler(request(key, "run-2#m2"), None)
    assert sink._DYNAMODB.acts(key) == 2


def test_a_second_call_of_one_execution_is_an_act_of_its_own(sink: Any) -> None:
    sink.handler(request(PLAIN, "run-1#m1"), None)
    assert sink.handler(request(PLAIN, "run-1#m1", retry=1), None)["requests"] == 2
    assert sink._DYNAMODB.acts(PLAIN) == 2


def test_some_keys_fail_at_first_and_act_when_they_come_again(sink: Any) -> None:
    with pytest.raises(sink.Failed, match='"requests":1'):
        sink.handler(request(FAILS, "run-1#m1"), None)
    assert sink._DYNAMODB.acts(FAILS) == 0
    sink.handler(request(FAILS, "run-2#m1"), None)
    assert sink._DYNAMODB.acts(FAILS) == 1


def test_nothing_acts_after_its_deadline(sink: Any) -> None:
    with pytest.raises(sink.TooLate, match='"requests":0'):
        sink.handler(request(PLAIN, "run-1#m1", seconds=-1), None)
    assert sink._DYNAMODB.rows == {}


class Stack:
    """A stack that notes whom it calls, and can refuse to change that."""

    def __init__(self, refuses: str | None = None) -> None:
        self.calls: list[str] = []
        self._refuses = refuses

    def client(self, _: str) -> Any:
        answer = {"FunctionArn": "arn:sink"}
        return SimpleNamespace(get_function_configuration=lambda **_: answer)

    def call(self, _: object, __: object, arn: str) -> None:
        if arn == self._refuses:
            raise OnceError("the change was rolled back")
        self.calls.append(arn)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(asked, "created", lambda *_: None)
    return SimpleNamespace(run="once-prove-x", place=SimpleNamespace(is_local=True))


def sees(monkeypatch: pytest.MonkeyPatch, stack: Stack, seen: Any) -> Any:
    monkeypatch.setattr(asked, "call", stack.call)
    monkeypatch.setattr(asked, "_seen", seen)
    (question,) = asked.questions(cast(Any, stack))
    return question.ask


def fails(*_: object) -> None:
    raise OnceError("no record came")


def test_what_is_asked_later_finds_the_stack_calling_its_own_function(
    monkeypatch: pytest.MonkeyPatch, site: Any
) -> None:
    stack = Stack()
    assert sees(monkeypatch, stack, lambda *_: {"acted twice": 0})(site, False)
    with pytest.raises(OnceError, match="no record came"):
        sees(monkeypatch, stack, fails)(site, False)
    assert stack.calls == ["arn:sink", ""] * 2


def test_a_stack_that_still_calls_the_sink_says_so_whatever_else_failed(
    monkeypatch: pytest.MonkeyPatch, site: Any
) -> None:
    stack = Stack(refuses="")
    with pytest.raises(OnceError, match=r"still calls the function of one question: .*rolled back"):
        sees(monkeypatch, stack, fails)(site, False)
