"""Sending lines into the queue."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from once.errors import OnceError
from once.lines import Line
from once.stack.delivery import Sent, send_to_queue
from once.stack.facade import Stack


class Queue:
    """Refuses what holds a bell."""

    def send_message_batch(self, *, Entries: list[dict[str, Any]], **_: str) -> Any:  # noqa: N803
        refused = [entry for entry in Entries if "\a" in entry["MessageBody"]]
        taken = [entry for entry in Entries if entry not in refused]
        return {
            "Failed": [{"Id": entry["Id"], "Code": "InvalidMessageContents"} for entry in refused],
            "Successful": [{"Id": entry["Id"], "MessageId": "m" + entry["Id"]} for entry in taken],
        }


def test_a_line_that_is_refused_is_named_and_those_that_were_taken_are_known() -> None:
    fake = SimpleNamespace(client=lambda _: Queue(), outputs={"EventQueueUrl": "queue"})
    lines = [Line(1, "{}"), Line(2, "\a"), Line(4, "{}")]
    sent: list[Sent] = []
    with pytest.raises(OnceError, match="refused line 2: InvalidMessageContents"):
        sent.extend(send_to_queue(cast(Stack, fake), lines))
    assert [one.line.number for one in sent] == [1, 4]
