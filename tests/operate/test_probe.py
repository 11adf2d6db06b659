"""`once check --destination`: one event of one's own, sent to the real destination."""

import getpass
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from once.errors import OnceError
from once.operate import probe
from proof.deployed import DeployedStack
from proof.events import customer_start
from proof.still import Still, still
from tests.operate.conftest import Answer, once
from tests.operate.support import destination_answers, keys_asked, until, verdict


def probed(*events: Any, says: str = "", options: tuple[str, ...] = ("--json",)) -> Answer:
    path = Path("event.json")
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    return once("check", "--destination", "--event", str(path), *options, says=says)


@pytest.mark.local
def test_the_response_to_one_event_is_reported_with_its_key_and_duration(
    operated: DeployedStack,
) -> None:
    event = customer_start("probe-acted")
    asked = probed(event, says="n\n")
    assert (asked.code, '"conversationId": "probe-acted"' in asked.err) == (1, True)
    assert keys_asked(operated, "probe-acted") == []
    answer = probed(event, options=("--json", "--yes"))
    found = answer.json["probe"]
    assert (answer.code, found["outcome"], found["status"]) == (0, "PROCESSED", 200)
    assert found["durationMs"] >= 0
    assert found["idempotencyKeys"] == keys_asked(operated, "probe-acted")
    (check,) = answer.json["checks"]
    assert (check["name"], check["works"]) == ("destination", True)
    assert f"answered 200 after {found['durationMs']} ms" in check["said"]
    assert found["idempotencyKeys"][0] in check["said"]


@pytest.mark.local
def test_a_probe_with_a_settled_event_says_that_it_is_skipped(operated: DeployedStack) -> None:
    event = customer_start("probe-again")
    operated.settle(event)
    answer = probed(event, says="y\n", options=())
    assert "settled before (PROCESSED)" in answer.err
    assert "once forget" in answer.err
    assert (answer.code, "DUPLICATE" in answer.out) == (3, True)
    assert len(keys_asked(operated, "probe-again")) == 1


@pytest.mark.local
def test_a_rejected_probe_needs_attention(operated: DeployedStack) -> None:
    destination_answers(operated, "probe-422", 422)
    answer = probed(customer_start("probe-422"), options=("--json", "--yes"))
    found = answer.json["probe"]
    assert (answer.code, found["outcome"], found["status"]) == (3, "PARKED", 422)
    assert f"once explain {found['messageId']}" in answer.json["checks"][0]["said"]
    assert once("parked", "drop", "probe-422", "--yes").code == 0


@pytest.mark.local
@pytest.mark.usefixtures("operated")
def test_a_probe_during_a_pause_says_that_it_waits() -> None:
    once("pause", "--for", "40s", "--reason", "repairs", "--yes")
    try:
        answer = probed(customer_start("probe-paused"), says="y\n", options=())
    finally:
        ended = once("resume", "--yes", "--json").json["ended"]
    assert (ended["reason"], ended["by"]) == ("repairs", getpass.getuser())
    assert "Requests are paused" in answer.err
    assert "Until then it waits on the queue" in answer.err
    assert (answer.code, "returns at" in answer.out) == (3, True)
    assert "requests are paused by" in answer.out
    assert "repairs" in answer.out
    until(lambda: verdict("probe-paused") == "acted on", seconds=180)


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Still]:
    with still() as one, one.up(tmp_path):
        yield one


def test_a_probe_takes_exactly_one_event(stack: Still) -> None:
    one = customer_start("one")
    for events, said in (
        ((one, customer_start("two")), "holds 2 texts"),
        (({"no": "event"},), "holds no event"),
    ):
        answer = probed(*events, options=("--yes",))
        assert (answer.code, said in answer.err) == (1, True), answer.err
    for options in (["--destination"], ["--event", "event.json"]):
        answer = once("check", *options)
        assert (answer.code, "once check --destination --event FILE" in answer.err) == (1, True)
    assert stack.client("sqs").get_queue_attributes(
        QueueUrl=stack.outputs["EventQueueUrl"], AttributeNames=["ApproximateNumberOfMessages"]
    )["Attributes"] == {"ApproximateNumberOfMessages": "0"}


def test_a_probe_of_a_stack_without_a_destination_is_refused() -> None:
    class Observes:
        only_observes = True

    stack: Any = Observes()
    with pytest.raises(OnceError, match="ActionTarget is none"):
        probe.refuse_if_nothing_is_sent(stack)
