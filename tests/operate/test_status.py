"""`once status`, `once pause` and `once resume` on a real stack."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proof.deployed import DeployedStack, deployed
from proof.events import customer_start
from tests.operate.conftest import once, up
from tests.operate.support import until, verdict

pytestmark = pytest.mark.local


@pytest.fixture(scope="module")
def alone() -> Iterator[DeployedStack]:
    """A stack without the events of other tests, which would be counted."""
    with deployed() as stack:
        yield stack


@pytest.fixture
def operated(alone: DeployedStack, tmp_path: Path) -> Iterator[DeployedStack]:
    with up(alone, tmp_path):
        yield alone


def status() -> Any:
    answer = once("status", "--json")
    assert answer.code in (0, 3), answer.err
    assert (answer.code == 3) == bool(answer.json["findings"])
    return answer.json


def codes(found: Any) -> dict[str, Any]:
    return {finding["code"]: finding for finding in found["findings"]}


def on_the_queue(found: Any) -> int:
    queue = found["queues"][0]
    return int(queue["visible"] + queue["inFlight"] + queue["delayed"])


def test_a_stopped_pipe_is_found_and_resumed(operated: DeployedStack) -> None:
    before = status()
    assert (before["pipe"], before["machine"]) == ("RUNNING", "ACTIVE")
    operated.client("pipes").stop_pipe(Name=operated.outputs["PipeName"])
    try:
        # It may still take what it was about to take.
        until(lambda: not operated.stack.pipe._running)
        operated.send(customer_start("s-paused"))
        found = status()
        assert "once resume" in codes(found)["PIPE_STOPPED"]["commands"]
        assert found["queues"][0]["visible"] >= 1
        assert on_the_queue(found) == 1
        assert verdict("s-paused") is None
        unknown = once("explain", "s-paused").err
        assert "among the 1 event on the queue" in unknown
        assert "The pipe is STOPPED" in unknown
        assert "\n  once resume\n" in unknown
    finally:
        # Else each later test of this stack waits for a pipe that takes nothing.
        resumed = once("resume", "--yes", "--json")
    assert resumed.json["pipe"] == "RUNNING"
    until(lambda: verdict("s-paused") == "acted on")
    assert "PIPE_STOPPED" not in codes(status())


def test_the_last_hour_is_counted(operated: DeployedStack) -> None:
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


def test_an_alarm_that_fires_points_to_its_page(operated: DeployedStack) -> None:
    alarms = operated.client("cloudwatch")
    name = "once-batches-failing"
    alarms.set_alarm_state(AlarmName=name, StateValue="ALARM", StateReason="tried")
    try:
        found = status()
    finally:
        alarms.set_alarm_state(AlarmName=name, StateValue="OK", StateReason="tried")
    assert [one["name"] for one in found["alarms"]] == ["batches-failing"]
    assert codes(found)["ALARM"]["page"] == "docs/runbook.md#batches-failing"
    assert status()["alarms"] == []
