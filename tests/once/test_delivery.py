"""Lines are sent in their order and followed until each is settled."""

import json
from typing import Any

import pytest

from once.errors import OnceError
from once.lines import Line
from once.stack.delivery import Delivery, Sent, Standing, send_to_queue
from proof.events import customer_start
from tests.commands.fakes import Clock, FakeStack


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> FakeStack:
    clock = Clock()
    clock.replace_time(monkeypatch)
    return FakeStack(clock, None)


def follow(stack: FakeStack, seconds: float = 60) -> tuple[Delivery, list[Standing]]:
    seen: list[Standing] = []

    def is_over(standing: Standing) -> bool:
        seen.append(standing)
        return standing.seconds > seconds

    return Delivery(stack, is_over), seen


def make_lines(*names: str) -> list[Line]:
    """Makes a line for each name; names that begin alike are copies."""
    return [
        Line(number, json.dumps({**customer_start(name[0]), "id": name}))
        for number, name in enumerate(names, 1)
    ]


def read_sent(stack: FakeStack) -> dict[str, str]:
    """Returns the ids of the messages by the names of their lines."""
    messages = stack.sqs.queues["events"]
    return {json.loads(message["Body"])["id"]: message["MessageId"] for message in messages}


def settle(stack: FakeStack, name: str, **fields: Any) -> None:
    message_id = read_sent(stack)[name]
    end = {"outcome": "PROCESSED", "reason": "ACTED", **fields}
    stack.logs.add(firstMessageId=message_id, ago_ms=0, **end)


def test_line_that_waits_holds_up_its_own_copies_alone(stack: FakeStack) -> None:
    def settle_the_first_last(message: dict[str, Any]) -> None:
        name = json.loads(message["Body"])["id"]
        if name != "a1":
            settle(stack, name)
        if name == "b3":
            settle(stack, "a1")

    stack.sqs.machine = settle_the_first_last
    delivery, seen = follow(stack)
    lines = make_lines("a1", "b1", "a2", "b2", "b3")
    assert delivery.send_in_steps(lines)
    assert [*read_sent(stack)] == ["a1", "b1", "b2", "b3", "a2"]
    assert seen[-1].settled == len(lines)


def test_event_that_was_put_back_is_settled_by_the_record_of_its_chain(stack: FakeStack) -> None:
    delivery, seen = follow(stack, seconds=1)
    (line,) = lines = make_lines("a1")
    delivery.send(lines)
    settle(stack, "a1", outcome="RETRY", reason="CALL_FAILED", returnedAs="other")
    assert not delivery.wait_for(lines)
    assert (seen[-1].waiting, seen[-1].settled) == (1, 0)
    # A second delivery of the message that was put back is a copy of its own chain.
    met = f"run#{read_sent(stack)['a1']}"
    settle(stack, "a1", outcome="DUPLICATE", reason="WAITS_ALREADY", because=met)
    assert not delivery.wait_for(lines)
    settle(stack, "a1")
    assert delivery.wait_for(lines)
    end = delivery.end_of(line)
    assert end is not None
    assert end.reason == "ACTED"


def test_wait_ends_when_it_is_over_and_lines_after_it_are_not_sent(stack: FakeStack) -> None:
    delivery, _ = follow(stack, seconds=5)
    lines = make_lines("a1", "a2")
    assert not delivery.send_in_steps(lines)
    assert [*read_sent(stack)] == ["a1"]
    assert [delivery.is_sent(line) for line in lines] == [True, False]


def test_a_line_that_is_refused_is_named_and_those_that_were_taken_are_known(
    stack: FakeStack,
) -> None:
    stack.sqs.refused = {"\a"}
    lines = [Line(1, "{}"), Line(2, "\a"), Line(4, "{}")]
    sent: list[Sent] = []
    with pytest.raises(OnceError, match="refused line 2: refused"):
        sent.extend(send_to_queue(stack, lines))
    assert [one.line.number for one in sent] == [1, 4]
