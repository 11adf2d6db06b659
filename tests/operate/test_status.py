"""`once status`, `once pause` and `once resume` on a real stack."""

import time
from typing import Any

import pytest

from proof.embedded import Embedded
from proof.events import customer_start
from tests.operate.conftest import once
from tests.operate.support import queue_with, start_anew, until, verdict

pytestmark = pytest.mark.embedded


def status() -> Any:
    answer = once("status", "--json")
    assert answer.code in (0, 3), answer.err
    assert (answer.code == 3) == bool(answer.json["findings"])
    return answer.json


def mends(found: Any) -> list[str]:
    return [finding["mend"] for finding in found["findings"]]


def test_a_paused_pipe_is_found_and_resumed(operated: Embedded) -> None:
    before = status()
    assert (before["pipe"], before["machine"]) == ("RUNNING", "ACTIVE")
    assert once("pause", says="n\n").code == 1
    assert status()["pipe"] == "RUNNING"
    paused = once("pause", says="y\n")
    assert (paused.code, "The pipe is STOPPED." in paused.out) == (0, True)
    # It may still take what it was about to take.
    until(lambda: not operated.stack.pipe._running)
    operated.send(customer_start("s-paused"))
    found = status()
    assert "once resume" in mends(found)
    assert found["queues"][0]["visible"] == 1
    assert verdict("s-paused") is None
    assert "among the 1 event on the queue" in once("explain", "s-paused").err
    assert once("pause", "--yes").code == 0, "once more is no failure"
    assert once("resume", "--json").json["pipe"] == "RUNNING"
    until(lambda: verdict("s-paused") == "acted once")
    assert "once resume" not in mends(status())


def test_the_last_hour_is_counted(operated: Embedded) -> None:
    before = status()["outcomes"]
    event = customer_start("s-counted")
    operated.settle(event)
    operated.settle(event)
    after = status()["outcomes"]
    assert after["PROCESSED"] == before["PROCESSED"] + 1
    assert after["DUPLICATE"] == before["DUPLICATE"] + 1


def test_what_is_parked_is_counted_and_the_command_named(operated: Embedded) -> None:
    parked = status()["queues"][1]["visible"]
    operated.settle("broken on purpose, to be counted")
    found = until(lambda: (now := status())["queues"][1]["visible"] == parked + 1 and now)
    assert "once parked list, then replay or drop" in mends(found)
    ids = [
        entry["messageId"]
        for entry in once("parked", "list", "--json").json["parked"]
        if entry["reason"] == "NOT_JSON"
    ]
    once("parked", "drop", *ids, "--yes")


def test_a_fault_of_the_set_up_is_named(operated: Embedded) -> None:
    secrets, arn = operated.client("secretsmanager"), "once/destination"
    kept = secrets.get_secret_value(SecretId=arn)["SecretString"]
    secrets.put_secret_value(SecretId=arn, SecretString='{"clientId": "x", "clientSecret": "y"}')
    with queue_with(operated, VisibilityTimeout="4"):
        start_anew(operated)
        try:
            (line,) = operated.send(customer_start("s-fault"))
            found = until(lambda: (now := status())["handedBack"].get("SETUP_FAULT") and now)
        finally:
            secrets.put_secret_value(SecretId=arn, SecretString=kept)
        assert any("put the secret or the mapping right" in mend for mend in mends(found))
        assert "SETUP_FAULT" in once("status").out
        (report,) = operated.wait([line])
        assert report.outcome == "PROCESSED", "with the secret mended it acts by itself"


def test_a_destination_that_is_down_is_said_with_its_next_probe(operated: Embedded) -> None:
    row = {
        "pk": {"S": "gate"},
        "sk": {"S": "health"},
        "since": {"N": str(time.time_ns() // 1_000_000)},
        "failed": {"N": "7"},
        "acted": {"N": "0"},
        "open_until": {"N": str(time.time_ns() // 1_000_000 + 20_000)},
        "pause": {"N": "20"},
    }
    table = operated.outputs["ClaimTableName"]
    operated.client("dynamodb").put_item(TableName=table, Item=row)
    try:
        answer = once("status")
    finally:
        key = {name: row[name] for name in ("pk", "sk")}
        operated.client("dynamodb").delete_item(TableName=table, Key=key)
    assert answer.code == 3
    assert "destination down since" in answer.out
    assert "next probe in 20 s" in answer.out or "next probe in 19 s" in answer.out


def test_an_alarm_that_fires_points_to_its_page(operated: Embedded) -> None:
    alarms = operated.client("cloudwatch")
    name = "once-machine-failing"
    alarms.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="tried")
    try:
        found = status()
    finally:
        alarms.set_alarm_state(AlarmName=name, StateValue="OK", StateReason="tried")
    assert found["alarms"] == ["machine-failing"]
    assert "docs/runbook.md#machine-failing" in mends(found)
    assert status()["alarms"] == []
