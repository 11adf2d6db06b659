"""An element has the fields of its message, and what the project wrote around it."""

import json
from typing import Any

import pytest
from once_enrichment.handler import normalise
from once_enrichment.keys import opaque

from tests.enrichment.examples import presence, snapshot
from tests.enrichment.sending import SENT_MS, body, element, record

FIRST_MS = SENT_MS - 86_400_000
ONCE = {
    "firstMessageId": "first",
    "firstSentAtMs": FIRST_MS,
    "waitsSinceMs": FIRST_MS + 5_000,
    "after": "run#first",
}
UNDATED = {"detail-type": "t", "detail": {"conversationId": "c1", "status": "connected"}}


def sent_again(event: Any, **once: Any) -> dict[str, Any]:
    text = event if isinstance(event, str) else json.dumps(event)
    return {"once": {**ONCE, **once}, "event": text}


def test_put_back_message_goes_on_with_its_chain() -> None:
    event = json.dumps(presence())
    first, again = element(event, message_id="m1"), element(sent_again(event), message_id="m2")
    assert first["firstMessageId"] == "m1"
    assert first["firstSentAtMs"] == first["waitsSinceMs"] == SENT_MS
    assert "after" not in first
    assert again == {**first, **ONCE}


def test_put_back_message_says_why_and_when_it_is_due() -> None:
    put_back = element(sent_again(presence(), reason="BREAKER_OPEN", dueAtMs=SENT_MS + 900_000))
    assert (put_back["lastReason"], put_back["dueAtMs"]) == ("BREAKER_OPEN", SENT_MS + 900_000)
    by_hand = element(sent_again(presence(), reason="Jörg", dueAtMs=SENT_MS))
    assert by_hand["lastReason"] == ""


def test_parked_message_begins_to_wait_anew_and_its_reason_is_not_read() -> None:
    one = element(sent_again(snapshot(), reason="REJECTED", cause="why", waitsSinceMs=None))
    assert one["waitsSinceMs"] == SENT_MS
    assert one["after"] == "run#first"
    assert not {"lastReason", "dueAtMs"} & one.keys()


def test_event_that_only_the_queue_dates_keeps_its_time_when_it_is_put_back() -> None:
    first = element(UNDATED, sent_ms=FIRST_MS)
    again = element(sent_again(UNDATED))
    for name in ("occurredAtMs", "idempotencyKey", "policy", "raw"):
        assert again[name] == first[name]


def test_broken_message_is_told_by_its_text_and_keeps_its_time() -> None:
    first, again = element("nothing", sent_ms=FIRST_MS), element(sent_again("nothing"))
    other = element("nothing else")
    assert first["key"] == again["key"] != other["key"]
    assert first["occurredAtMs"] == again["occurredAtMs"] == FIRST_MS
    assert (again["raw"], again["bodyPath"], again["trace"]) == ("nothing", [], {})
    assert (first["family"], first["key"]["sk"]) == ("broken", "v2/broken")
    assert first["policy"] == {"windowMs": 0, "order": "none"}


@pytest.mark.parametrize(
    "once",
    [
        {},
        {"firstMessageId": 7, "after": [], "waitsSinceMs": "soon"},
        {"firstSentAtMs": SENT_MS + 1, "waitsSinceMs": None, "firstMessageId": ""},
    ],
)
def test_wrapper_written_by_hand_is_read_as_far_as_it_can_be(once: Any) -> None:
    one = element({"once": once, "event": json.dumps(UNDATED)}, message_id="m")
    assert one["firstMessageId"] == "m"
    assert one["firstSentAtMs"] == one["waitsSinceMs"] == SENT_MS
    assert "after" not in one


@pytest.mark.parametrize(
    "wrapped",
    [
        {"once": ONCE, "event": json.dumps(UNDATED), "more": 1},
        {"once": ONCE, "event": UNDATED},
        {"once": "x", "event": json.dumps(UNDATED)},
    ],
)
def test_other_objects_are_no_message_of_ours(wrapped: Any) -> None:
    one = element(wrapped)
    assert one["broken"] == "UNREADABLE"
    assert one["raw"] == json.dumps(wrapped)


@pytest.mark.parametrize(
    ("once", "attribute", "is_canary"),
    [({"canary": True}, False, True), ({}, True, True), ({"canary": "yes"}, False, False)],
)
def test_canary_is_marked_by_an_attribute_and_then_by_the_project(
    once: Any, attribute: bool, is_canary: bool
) -> None:
    sent = record({"once": once, "event": json.dumps(presence())})
    if attribute:
        sent["messageAttributes"] = {"GenesysOnceCanary": {"stringValue": "1"}}
    assert normalise(sent).get("canary", False) is is_canary
    assert "canary" not in element({**presence(), "canary": True})
    assert element({"once": {"canary": True}, "event": "nothing"})["canary"] is True


def test_record_that_lacks_everything_is_a_broken_message() -> None:
    one = normalise({})
    assert one["detail"].startswith("BODY_MISSING: ")
    names = ("firstMessageId", "firstSentAtMs", "waitsSinceMs", "receives", "occurredAtMs")
    assert [one[name] for name in names] == ["", 0, 0, 0, 0]


def test_long_texts_are_cut() -> None:
    envelope = {"id": "i" * 200, "source": "s" * 90}
    one = element({**envelope, "detail": {"conversationId": "c" * 200, "status": "s" * 200}})
    assert (len(one["subject"]["id"]), len(one["state"])) == (160, 160)
    assert one["trace"] == {"envelopeId": opaque("i" * 200), "source": "s" * 90}


def test_redelivered_message_becomes_the_same_element() -> None:
    first, second = record(presence()), record(presence())
    second["attributes"]["ApproximateReceiveCount"] = "17"
    second["receiptHandle"] = "another"
    assert normalise(second) == {**normalise(first), "receives": 17}


def test_element_holds_no_receipt_handle_and_no_second_copy_of_the_body() -> None:
    one = element(presence(message="a note"))
    assert not {"receiptHandle", "body"} & one.keys()
    assert json.dumps(one).count("a note") == 1
    assert body(one)["message"] == "a note"
