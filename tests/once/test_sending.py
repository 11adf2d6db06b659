"""Sending lines into the queue, when SQS takes only some of them."""

from typing import Any

import pytest

from once.errors import OnceError
from once.lines import Line
from once.sending import Sender


class Queue:
    """Refuses what holds a bell."""

    def send_message_batch(self, *, Entries: list[dict[str, Any]], **_: str) -> Any:  # noqa: N803
        refused = [entry for entry in Entries if "\a" in entry["MessageBody"]]
        taken = [entry for entry in Entries if entry not in refused]
        return {
            "Failed": [{"Id": entry["Id"], "Code": "InvalidMessageContents"} for entry in refused],
            "Successful": [{"Id": entry["Id"], "MessageId": "m" + entry["Id"]} for entry in taken],
        }


class Counted:
    def __init__(self) -> None:
        self.lines: list[int] = []

    def sent_to_queue(self, line: Line, message_id: str) -> None:  # noqa: ARG002
        self.lines.append(line.number)

    def sent_to_bus(self, line: Line, envelope_id: str) -> None:
        raise AssertionError((line, envelope_id))


def test_a_line_that_is_refused_is_named_and_those_that_were_taken_are_known() -> None:
    counted = Counted()
    outputs = {"EventQueueUrl": "queue", "EventBusName": "bus"}
    lines = [Line(1, "{}"), Line(2, "\a"), Line(4, "{}")]
    with pytest.raises(OnceError, match="refused line 2: InvalidMessageContents"):
        Sender(Queue(), None, outputs, counted).to_queue(lines)
    assert counted.lines == [1, 4]
