"""The facts of a delivery are read from SQS's record, also from one made by hand."""

from typing import Any

import pytest
from once_enrichment.message import read

RECORD = {
    "messageId": "m1",
    "receiptHandle": "r1",
    "body": "{}",
    "attributes": {"ApproximateReceiveCount": "3", "SentTimestamp": "1795000000000"},
}


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in RECORD.items() if key != name}


def test_a_record_as_the_pipe_hands_it_over() -> None:
    message = read(RECORD)
    assert (message.text, message.sent_ms) == ("{}", 1_795_000_000_000)
    assert message.delivery == {
        "messageId": "m1",
        "receiptHandle": "r1",
        "receives": 3,
        "sentAtMs": 1_795_000_000_000,
    }


@pytest.mark.parametrize("name", ["messageId", "receiptHandle", "body", "attributes"])
def test_what_is_missing_is_empty_and_the_rest_stays(name: str) -> None:
    whole, lacking = read(RECORD), read(without(name))
    assert lacking.text == ("" if name == "body" else whole.text)
    gone = ("receives", "sentAtMs") if name == "attributes" else (name,)
    assert {k: v for k, v in lacking.delivery.items() if k not in gone} == {
        k: v for k, v in whole.delivery.items() if k not in gone
    }
    assert not any(lacking.delivery[one] for one in gone if one in lacking.delivery)


@pytest.mark.parametrize("name", ["messageId", "receiptHandle", "body"])
def test_what_is_no_text_becomes_text(name: str) -> None:
    message = read({**RECORD, name: 5})
    assert {type(message.text), *map(type, message.delivery.values())} == {str, int}
    assert type(message.text) is str
    assert message.delivery["receives"] == 3
