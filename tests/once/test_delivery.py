"""Lines are sent in their order and followed until each is settled, or nothing is left to come."""

import json
from typing import Any

from once.lines import Line
from once.model.reasons import Outcome
from once.stack.delivery import Delivery, Standing
from once.stack.facade import Stack, read_clock_ms
from proof.events import customer_start


class FakeStack(Stack):
    """A queue and a log; `record` writes what became of a message."""

    outputs = {"EventQueueUrl": "queue", "OutcomeLogGroupName": "log"}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__(None, "once")
        self.sent: list[str] = []
        self.now = 0.0
        self.began_ms = read_clock_ms()
        self.queued = 1
        self._events: list[dict[str, Any]] = []

    def client(self, _: str) -> "FakeStack":
        return self

    def send_message_batch(self, QueueUrl: str, Entries: Any) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == "queue"
        for entry in Entries:
            self.sent.append(json.loads(entry["MessageBody"])["id"])
            self.took(self.sent[-1])
        ids = self.sent[-len(Entries) :]
        return {
            "Successful": [
                {"Id": entry["Id"], "MessageId": id_}
                for entry, id_ in zip(Entries, ids, strict=True)
            ]
        }

    def took(self, message_id: str) -> None:
        """Hears of each message."""

    def record(self, message_id: str, outcome: Outcome, reason: str = "", **facts: Any) -> None:
        line = {"messageId": message_id, "outcome": outcome, "reason": reason, **facts}
        number = len(self._events)
        self._events.append(
            {
                "eventId": str(number),
                "timestamp": self.began_ms + number,
                "message": json.dumps(line),
            }
        )

    def get_paginator(self, _: str) -> "FakeStack":
        return self

    def paginate(self, startTime: int, **_: Any) -> list[dict[str, Any]]:  # noqa: N803
        return [{"events": [e for e in self._events if e["timestamp"] >= startTime]}]

    def get_queue_attributes(self, AttributeNames: list[str], **_: Any) -> Any:  # noqa: N803
        return {"Attributes": dict.fromkeys(AttributeNames, str(self.queued))}

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def follow(stack: FakeStack, seconds: float = 60) -> tuple[Delivery, list[Standing]]:
    seen: list[Standing] = []

    def is_over(standing: Standing) -> bool:
        seen.append(standing)
        return standing.seconds > seconds

    delivery = Delivery(stack, is_over, clock=lambda: stack.now, sleep=stack.sleep)
    return delivery, seen


def make_lines(*names: str) -> list[Line]:
    """Makes a line for each name; names that begin alike are copies."""
    return [
        Line(number, json.dumps({**customer_start(name[0]), "id": name}))
        for number, name in enumerate(names, 1)
    ]


def test_line_that_waits_holds_up_its_own_copies_alone() -> None:
    class SettlesTheFirstLast(FakeStack):
        def took(self, message_id: str) -> None:
            if message_id != "a1":
                self.record(message_id, Outcome.PROCESSED)
            if message_id == "b3":
                self.record("a1", Outcome.PROCESSED)

    stack = SettlesTheFirstLast()
    delivery, seen = follow(stack)
    lines = make_lines("a1", "b1", "a2", "b2", "b3")
    assert delivery.send_in_steps(lines)
    assert stack.sent == ["a1", "b1", "b2", "b3", "a2"]
    assert seen[-1].settled == len(lines)


def test_event_that_was_put_back_is_settled_by_the_record_of_its_chain() -> None:
    stack = FakeStack()
    delivery, seen = follow(stack, seconds=1)
    (line,) = lines = make_lines("a1")
    delivery.send(lines)
    stack.record("a1", Outcome.RETRY, "CALL_FAILED", returnedAs="other")
    assert not delivery.wait_for(lines)
    assert (seen[-1].waiting, seen[-1].settled) == (1, 0)
    # A second delivery of the message that was put back is a copy of its own chain.
    stack.record("a1", Outcome.DUPLICATE, "WAITS_ALREADY", because="run#a1")
    assert not delivery.wait_for(lines)
    stack.record("a1", Outcome.PROCESSED, "ACTED")
    assert delivery.wait_for(lines)
    end = delivery.end_of(line)
    assert end is not None
    assert end.reason == "ACTED"


def test_copy_names_the_line_that_it_met() -> None:
    stack = FakeStack()
    delivery, _ = follow(stack)
    first, second = lines = make_lines("a1", "a2")
    delivery.send(lines)
    stack.record("a1", Outcome.PROCESSED, "ACTED")
    stack.record("a2", Outcome.DUPLICATE, "SAME_KEY", because="run#a1")
    assert delivery.wait_for(lines)
    end = delivery.end_of(second)
    assert end is not None
    assert delivery.line_of(str(end.met)) == first.number


def test_empty_queue_ends_the_wait_for_a_line_without_an_outcome() -> None:
    stack = FakeStack()
    delivery, _ = follow(stack)
    (line,) = lines = make_lines("a1")
    delivery.send(lines)
    stack.queued = 0
    assert delivery.wait_for(lines)
    assert delivery.end_of(line) is None
    assert delivery.is_sent(line)
    assert 10 <= stack.now < 20


def test_wait_ends_when_it_is_over_and_lines_after_it_are_not_sent() -> None:
    stack = FakeStack()
    delivery, _ = follow(stack, seconds=5)
    lines = make_lines("a1", "a2")
    assert not delivery.send_in_steps(lines)
    assert stack.sent == ["a1"]
    assert [delivery.is_sent(line) for line in lines] == [True, False]
