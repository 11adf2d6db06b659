"""The events of `once check` are answered without the destination, as they ask for."""

from typing import Any

import pytest

from tests.data_action.support import Bench, event


def canary(**body: Any) -> dict[str, Any]:
    key = {"pk": "once-check/check/run-good", "sk": "v1/once.check/~0"}
    return {**event(), "family": "once.check", "key": key, "body": body}


def test_a_canary_is_observed_and_the_destination_hears_nothing(either: Bench) -> None:
    assert either.call(event=canary()) == {"version": "2", "result": "OBSERVED", "calls": 0}
    assert either.server.log == []


def test_a_canary_can_ask_to_be_refused(either: Bench) -> None:
    name, message = either.fails(event=canary(refuse=True))
    assert name == "Rejected"
    assert "once check" in message["sentence"]
    assert either.server.log == []


def test_a_canary_can_ask_to_fail_for_a_while(either: Bench) -> None:
    failing = canary(failUntilMs=either.clock() + 5_000)
    assert either.fails(event=failing)[0] == "Failed"
    either.clock.ahead_ms = 6_000
    assert either.call(event=failing)["result"] == "OBSERVED"
    assert either.server.log == []


@pytest.mark.parametrize(
    "pk", ["-/conversation/c1", "org/check/once-check", "once-check-2/check/a", "once-check/user/a"]
)
def test_an_event_that_somebody_calls_once_check_acts(webhook_action: Bench, pk: str) -> None:
    other = canary(refuse=True)
    other["key"] = {**other["key"], "pk": pk}
    assert webhook_action.call(event=other)["result"] == "ACTED"
