"""The events of `once check` are answered without the destination, as they ask for."""

from typing import Any

from tests.data_action.support import Bench, event


def canary(**body: Any) -> dict[str, Any]:
    key = {"pk": "once-check/check/run-good", "sk": "v1/once.check/~0"}
    return {**event(), "family": "once.check", "key": key, "body": body, "canary": True}


def test_a_canary_is_observed_and_the_destination_hears_nothing(either: Bench) -> None:
    assert either.call(event=canary()) == {"version": "2", "result": "OBSERVED", "requests": 0}
    assert either.server.log == []


def test_a_canary_can_ask_to_be_refused(either: Bench) -> None:
    refused = canary(refuseUntilMs=either.clock() + 5_000)
    name, message = either.fails(event=refused)
    assert name == "Rejected"
    assert "once check" in message["sentence"]
    either.clock.ahead_ms = 6_000
    assert either.call(event=refused)["result"] == "OBSERVED"
    assert either.server.log == []


def test_a_canary_can_ask_to_fail_for_a_while(either: Bench) -> None:
    failing = canary(failUntilMs=either.clock() + 5_000)
    assert either.fails(event=failing)[0] == "Failed"
    either.clock.ahead_ms = 6_000
    assert either.call(event=failing)["result"] == "OBSERVED"
    assert either.server.log == []


def test_an_event_without_the_mark_is_sent_whatever_it_says(webhook_action: Bench) -> None:
    pretending = canary(refuseUntilMs=10**15, canary=True)
    del pretending["canary"]
    assert webhook_action.call(event=pretending)["result"] == "ACTED"
