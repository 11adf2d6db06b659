"""`once status`, `once hold` and `once resume` on a real stack."""

from typing import Any

import pytest

from proof.embedded import Embedded
from proof.events import customer_start
from tests.operate.conftest import once
from tests.operate.support import keys_asked, queue_with, restart_with, until, verdict

pytestmark = pytest.mark.embedded


def status() -> Any:
    answer = once("status", "--json")
    assert answer.code in (0, 3), answer.err
    assert (answer.code == 3) == bool(answer.json["findings"])
    return answer.json


def helps(found: Any) -> list[str]:
    return [finding["helps"] for finding in found["findings"]]


def test_a_stopped_pipe_is_found_and_resumed(operated: Embedded) -> None:
    before = status()
    assert (before["pipe"], before["machine"]) == ("RUNNING", "ACTIVE")
    operated.client("pipes").stop_pipe(Name=operated.outputs["PipeName"])
    # It may still take what it was about to take.
    until(lambda: not operated.stack.pipe._running)
    operated.send(customer_start("s-paused"))
    found = status()
    assert "once resume" in helps(found)
    assert found["queues"][0]["visible"] == 1
    assert verdict("s-paused") is None
    assert "among the 1 event on the queue" in once("explain", "s-paused").err
    assert once("resume", "--json").json["pipe"] == "RUNNING"
    until(lambda: verdict("s-paused") == "acted once")
    assert "once resume" not in helps(status())


def test_the_last_hour_is_counted(operated: Embedded) -> None:
    before = status()["outcomes"]
    event = customer_start("s-counted")
    operated.settle(event)
    operated.settle(event)
    after = status()["outcomes"]
    assert after["PROCESSED"] == before["PROCESSED"] + 1
    assert after["DUPLICATE"] == before["DUPLICATE"] + 1
    newest = status()["arrivals"][0]
    assert (newest["source"], newest["family"]) == ("tests", "conversation.customer.start")
    assert "  tests: " in once("status").out


def test_what_is_parked_is_counted_and_the_command_named(operated: Embedded) -> None:
    parked = status()["queues"][1]["visible"]
    operated.settle("broken on purpose, to be counted")
    found = until(lambda: (now := status())["queues"][1]["visible"] == parked + 1 and now)
    assert "once parked list, docs/runbook.md#events-parked" in helps(found)
    ids = [
        entry["messageId"]
        for entry in once("parked", "list", "--json").json["parked"]
        if entry["reason"] == "NOT_JSON"
    ]
    once("parked", "drop", *ids, "--yes")


def test_a_fault_of_the_set_up_is_named(operated: Embedded) -> None:
    secrets, arn = operated.client("secretsmanager"), "once/destination"
    kept = secrets.get_secret_value(SecretId=arn)["SecretString"]
    with queue_with(operated, VisibilityTimeout="4"):
        wrong = '{"clientId": "x", "clientSecret": "y"}'
        secrets.put_secret_value(SecretId=arn, SecretString=wrong)
        restart_with(operated)
        try:
            # The oldest one is named, so it is older than what other tests left waiting.
            (line,) = operated.send(customer_start("s-fault", eventTime=1_741_769_999_999))
            expected = "once explain s-fault, docs/runbook.md#setup-fault"
            until(lambda: any(one.startswith(expected) for one in helps(status())))
            assert "SETUP_FAULT" in once("status").out
        finally:
            secrets.put_secret_value(SecretId=arn, SecretString=kept)
        (report,) = operated.wait([line])
        assert report.outcome == "PROCESSED", "with the secret put right it acts by itself"


def test_held_calls_are_said_first_and_flow_again_when_resumed(operated: Embedded) -> None:
    assert once("hold", says="n\n").code == 1
    assert status()["breaker"]["state"] == "CLOSED"
    held = once("hold", "--for", "30s", "--why", "repairs", says="y\n")
    assert (held.code, "Calls are held until" in held.out) == (0, True)
    answer = once("status")
    assert answer.code == 3
    assert "Calls are held until" in answer.out.splitlines()[1]
    assert "repairs" in answer.out
    operated.send(customer_start("s-held"))
    until(lambda: (verdict("s-held") or "").startswith("not settled yet: calls paused"))
    assert keys_asked(operated, "s-held") == []
    assert once("resume", "--json").json["wasHeld"] in ("repairs", None)
    until(lambda: verdict("s-held") == "acted once")
    assert status()["breaker"]["state"] == "CLOSED"


def test_an_alarm_that_fires_points_to_its_page(operated: Embedded) -> None:
    alarms = operated.client("cloudwatch")
    name = "once-machine-failing"
    alarms.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="tried")
    try:
        found = status()
    finally:
        alarms.set_alarm_state(AlarmName=name, StateValue="OK", StateReason="tried")
    assert found["alarms"] == ["machine-failing"]
    assert "docs/runbook.md#machine-failing" in helps(found)
    assert status()["alarms"] == []
