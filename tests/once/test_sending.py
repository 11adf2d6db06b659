"""Sending lines into the queue, and what of them a bus can carry."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from once.errors import OnceError
from once.lines import Line
from once.stack.sending import Sent, bus_entry, send_to_queue, source_prefix

EVENT: dict[str, Any] = {
    "source": "contact-centre.chat",
    "detail-type": "Conversation Status Change",
    "detail": {"status": "on_hold"},
}


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
    outputs = {"EventQueueUrl": "queue"}
    lines = [Line(1, "{}"), Line(2, "\a"), Line(4, "{}")]
    sent: list[Sent] = []
    with pytest.raises(OnceError, match="refused line 2: InvalidMessageContents"):
        sent.extend(send_to_queue(lambda _: Queue(), outputs, lines))
    assert [one.line.number for one in sent] == [1, 4]


def test_a_bus_carries_source_type_detail_and_time() -> None:
    entry = bus_entry(json.dumps({**EVENT, "id": "mine", "time": "2025-03-12T09:00:00Z"}))
    assert entry == {
        "Source": "contact-centre.chat",
        "DetailType": "Conversation Status Change",
        "Detail": '{"status": "on_hold"}',
        "Time": datetime(2025, 3, 12, 9, tzinfo=UTC),
    }


def test_a_time_that_is_none_is_left_to_the_bus() -> None:
    assert "Time" not in (bus_entry(json.dumps({**EVENT, "time": "yesterday"})) or {})


@pytest.mark.parametrize(
    "line",
    [
        "not json",
        "[1]",
        json.dumps({**EVENT, "source": "aws.partner/genesys.com/cloud/org/suffix"}),
        json.dumps({**EVENT, "source": ""}),
        json.dumps({**EVENT, "detail": "text"}),
        json.dumps({k: v for k, v in EVENT.items() if k != "detail-type"}),
    ],
    ids=["no json", "array", "aws source", "no source", "no detail object", "no detail-type"],
)
def test_a_bus_does_not_carry(line: str) -> None:
    assert bus_entry(line) is None


@pytest.mark.parametrize(
    ("sources", "prefix"),
    [
        ([], ""),
        (["chat"], "chat"),
        (["simulate.a/x", "simulate.a/y", "simulate.b"], "simulate."),
        (["chat", "genesys.cloud", "genesys"], "genesys"),
    ],
)
def test_one_prefix_takes_as_many_sources_as_it_can(sources: list[str], prefix: str) -> None:
    assert source_prefix(sources) == prefix
