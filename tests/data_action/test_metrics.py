"""Every call leaves one line that CloudWatch can count, and an operator can read."""

import json
from typing import Any

import pytest
from data_action import errors, handler

from proof.cloudwatch import embedded_metrics

STACK = frozenset({"Stack"})
PAYLOAD = {"attempt": 2, "execution": "run-1#message-1", "event": {"body": {"ani": "+49155"}}}


class Context:
    def get_remaining_time_in_millis(self) -> int:
        return 1_000


def call(
    monkeypatch: pytest.MonkeyPatch, ends_in: Exception | dict[str, Any], payload: Any = PAYLOAD
) -> None:
    def action(*_: Any) -> dict[str, Any]:
        if isinstance(ends_in, Exception):
            raise ends_in
        return ends_in

    monkeypatch.setenv("STACK_NAME", "a-stack")
    monkeypatch.setattr(handler, "_data_action", lambda: action)
    handler.handler(payload, Context())


def test_an_act_tells_its_duration_and_how_often_it_was_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call(monkeypatch, {"result": "ACTED", "durationMs": 12})
    (line,) = capsys.readouterr().out.splitlines()
    assert embedded_metrics(line) == {
        ("GenesysOnce", "ACTION_MS", STACK): [12],
        ("GenesysOnce", "ATTEMPTS", STACK): [3],
    }
    assert json.loads(line)["Stack"] == "a-stack"


@pytest.mark.parametrize(
    "error", [e for e in vars(errors).values() if isinstance(e, type) and e is not Exception]
)
def test_a_failure_is_counted_by_its_name_and_keeps_what_it_says(
    error: type[errors.ActionError],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(error):
        call(monkeypatch, error("no answer", status=503))
    (line,) = capsys.readouterr().out.splitlines()
    ((metric, values),) = embedded_metrics(line).items()
    assert metric[1].replace("_", "").lower() == error.__name__.lower()
    assert values == [1]
    said = json.loads(line)
    assert (said["detail"], said["status"]) == ("no answer", 503)
    assert said["execution"] == "run-1#message-1"
    assert "+49155" not in line


def test_a_payload_that_is_no_request_is_counted_all_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(errors.NotConfigured):
        call(monkeypatch, errors.NotConfigured("not understood"), payload=[1])
    assert embedded_metrics(capsys.readouterr().out.strip())


def test_who_only_observes_has_nothing_to_measure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call(monkeypatch, {"result": "OBSERVED"})
    assert capsys.readouterr().out == ""
