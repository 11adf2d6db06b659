"""`once send --wait`: ends with 0 when all is settled and with 3 when it is not, and says why."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from once import waiter
from once.operate import log
from proof.events import customer_start
from proof.still import Still, still
from tests.operate.conftest import Answer, once


@pytest.fixture(scope="module")
def stack() -> Iterator[Still]:
    with still() as one:
        yield one


Settle = Callable[[list[str]], list[dict[str, Any]]]


@pytest.fixture
def sent(stack: Still, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Two events sent into a stack that records this of their messages at the first poll."""
    stack.clear()

    def type_(settle: Settle, *options: str, names: str = "ab") -> Answer:
        passed = [0.0]

        def sleep(seconds: float) -> None:
            passed[0] += seconds
            queue = stack.outputs["EventQueueUrl"]
            received = stack.client("sqs").receive_message(
                QueueUrl=queue, MaxNumberOfMessages=10, WaitTimeSeconds=0
            )
            ids = sorted(message["MessageId"] for message in received.get("Messages", []))
            stack.records({"recordedAtMs": log.now_ms(), **one} for one in settle(ids) if ids)

        clock = SimpleNamespace(sleep=sleep, monotonic=lambda: passed[0])
        monkeypatch.setattr(waiter, "time", clock)
        with stack.up(tmp_path):
            events = Path("events.jsonl")
            events.write_text("".join(f"{json.dumps(customer_start(name))}\n" for name in names))
            return once("send", str(events), *options)

    return type_


def acted(message_id: str) -> dict[str, Any]:
    return {"messageId": message_id, "outcome": "PROCESSED", "reason": "ACTED"}


def test_it_ends_with_0_as_soon_as_all_are_settled(sent: Any) -> None:
    def settle(ids: list[str]) -> list[dict[str, Any]]:
        first, second = ids
        parked = {"messageId": second, "outcome": "PARKED", "reason": "REJECTED"}
        return [acted(first), parked]

    answer = sent(settle, "--wait", "--timeout", "60")
    assert answer.code == 0, answer.err
    assert "2 messages sent: 1 PROCESSED, 1 PARKED." in answer.out
    assert "Not settled" not in answer.out


def test_send_ends_with_3_and_the_reason_if_an_event_stays_unsettled(
    sent: Any,
) -> None:
    def settle(ids: list[str]) -> list[dict[str, Any]]:
        if not ids:
            return []
        first, second = ids
        waits = {"messageId": second, "outcome": "RETRY", "reason": "CALL_FAILED", "requests": 1}
        return [acted(first), waits]

    answer = sent(settle, "--wait", "--timeout", "90")
    assert answer.code == 3
    assert "2 messages sent: 1 PROCESSED." in answer.out
    assert "Not settled within 90 s: 1 message, the request failed." in answer.out


def test_an_event_left_on_the_queue_is_unsettled(sent: Any) -> None:
    answer = sent(lambda _: [], "--wait", "--timeout", "0", "--json")
    assert answer.code == 3
    assert answer.json["unsettled"] == {"NOTHING_RECORDED": 2}
    assert answer.json["outcomes"] == {}


def test_states_that_overtook_each_other_are_said_to_have_been_sent_at_once(sent: Any) -> None:
    def settle(ids: list[str]) -> list[dict[str, Any]]:
        stale = {"messageId": ids[1], "outcome": "STALE", "reason": "NEWER_STATE"}
        return [acted(ids[0]), stale]

    assert "--step keeps the order" in sent(settle, "--wait").out


def test_with_step_a_copy_follows_when_the_first_is_settled(sent: Any) -> None:
    polls = []

    def settle(ids: list[str]) -> list[dict[str, Any]]:
        polls.append(len(ids))
        return [acted(one) for one in ids]

    answer = sent(settle, "--step", "--json", names="aab")
    assert (answer.code, answer.json["outcomes"]) == (0, {"PROCESSED": 3})
    assert [count for count in polls if count] == [2, 1]


def test_followers_of_an_unsettled_event_are_said_not_to_be_sent(sent: Any) -> None:
    answer = sent(lambda _: [], "--step", "--timeout", "5", "--json", names="aab")
    assert answer.code == 3
    assert answer.json["unsettled"] == {"NOTHING_RECORDED": 2, "NOT_SENT": 1}


def test_send_without_wait_ends_with_0(sent: Any) -> None:
    answer = sent(lambda _: [], "--json")
    assert (answer.code, answer.json["sent"], answer.json["outcomes"]) == (0, 2, None)
