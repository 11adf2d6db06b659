"""With --step copies follow each other, and no other line waits for them."""

import json
from typing import Any

from once.outcomes import Outcome
from once.run.tracker import Standing, Tracker
from once.sending import chain_by_claim, send_in_chains, send_to_queue

from once.lines import Line
from proof.events import customer_start
from tests.once.test_tracker import OUTPUTS, FakeAws


class Stack(FakeAws):
    """Settles the first line only when all but its successor have been sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []

    def send_message_batch(self, QueueUrl: str, Entries: Any) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == "queue"
        answer = []
        for entry in Entries:
            self.sent.append(json.loads(entry["MessageBody"])["id"])
            answer.append({"Id": entry["Id"], "MessageId": self.sent[-1]})
            if self.sent[-1] != "a1":
                self.record(self.sent[-1], Outcome.PROCESSED)
        if self.sent[-1] == "b3":
            self.record("a1", Outcome.PROCESSED)
        return {"Successful": answer}


def test_a_line_that_waits_holds_up_its_own_copies_alone() -> None:
    names = ["a1", "b1", "a2", "b2", "b3"]
    lines = [
        Line(number, json.dumps({**customer_start(name[0]), "id": name}))
        for number, name in enumerate(names, 1)
    ]
    stack, seen = Stack(), list[Standing]()
    tracker = Tracker(stack.client, OUTPUTS)
    send_in_chains(
        chain_by_claim(lines),
        lambda some: tracker.follow(send_to_queue(stack.client, OUTPUTS, some)),
        lambda parts: tracker.wait_for_one(parts, seen.append),
    )
    assert stack.sent == ["a1", "b1", "b2", "b3", "a2"]
    assert seen[-1].settled == len(lines)
