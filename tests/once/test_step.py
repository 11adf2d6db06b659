"""With --step the lines of a subject follow each other, and no subject waits for another."""

import json
from typing import Any, cast

from once.embedded.stack import EmbeddedStack
from once.lines import Line
from once.outcomes import Outcome
from once.project import EXAMPLE
from once.run.command import Plan, _send_and_wait
from once.run.tracker import Standing, Tracker
from proof.events import customer_start
from tests.once.test_tracker import OUTPUTS, FakeAws


class Stack(FakeAws):
    """Settles the first line only when all but its successor have been sent."""

    outputs = {**OUTPUTS, "EventBusName": "bus"}  # noqa: RUF012

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


class Nobody:
    def step(self, what: str) -> None: ...

    def progress(self, standing: Standing, total: int) -> None: ...


def test_a_subject_that_waits_holds_up_its_own_lines_alone() -> None:
    names = ["a1", "b1", "a2", "b2", "b3"]
    lines = [
        Line(number, json.dumps({**customer_start(name[0]), "id": name}))
        for number, name in enumerate(names, 1)
    ]
    stack, tracker = Stack(), Tracker()
    plan = Plan(EXAMPLE, step=True)
    _send_and_wait(plan, lines, cast(EmbeddedStack, stack), tracker, Nobody(), None)
    assert stack.sent == ["a1", "b1", "b2", "b3", "a2"]
    assert tracker.standing().settled == len(lines)
