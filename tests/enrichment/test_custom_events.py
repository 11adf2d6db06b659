"""The shapes that people build themselves, in the spellings that were met."""

import json
from typing import Any

import pytest
from once_enrichment.keys import opaque

from tests.enrichment.examples import event
from tests.enrichment.sending import SENT_MS, element, key

MS = 1741770000123
NESTED = {"conversationId": "c1", "status": "connected"}
SHAPES: list[Any] = [
    {"detail": {"eventId": "e", "eventType": "call:started", "timestamp": MS, "body": NESTED}},
    {"detail": {"id": "e", "conversationId": "c1", "state": "connected", "timestamp": MS}},
    {"detail-type": "x", "detail": {"interactionId": "c1", "status": "connected"}},
    {"detail-type": "x", "detail": {"interaction_id": "c1", "status": "connected"}},
    {"detail": {"data": {"id": "c1"}, "type": "conversation.updated"}},
    {"detail-type": "routing:queueConversation", "detail": {**NESTED, "timestamp": MS // 1000}},
    {"detail": {"eventType": "routing:queueConversation", "conversationId": "c1"}},
    {"event-id": "e", "conversation": {"id": "c1"}, "eventType": "call", "status": "ended"},
    {"conversation_id": "c1", "status": "connected"},
    {"detail": {"eventType": "call.updated", "payload": NESTED}},
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_each_shape_is_about_its_conversation(shape: Any) -> None:
    one = element(shape)
    assert one["subject"] == {"type": "conversation", "id": "c1"}
    assert one["ids"]["conversationId"] == "c1"


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_copy_of_a_status_differs_in_its_id_and_order_of_fields_and_no_more(shape: Any) -> None:
    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                name: "another" if inner == "e" else renamed(inner)
                for name, inner in reversed(value.items())
            }
        return value

    assert key(renamed(shape)) == key(shape)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["status", "state", "conversationId", "conversation_id"])
def test_another_state_or_subject_is_another_event(shape: Any, name: str) -> None:
    def other(value: Any) -> Any:
        if isinstance(value, dict):
            return {n: "other" if n == name else other(inner) for n, inner in value.items()}
        return value

    assert (key(other(shape)) == key(shape)) == (f"'{name}'" not in str(shape))


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        ({"user_id": "u", "status": "s", "queue_id": "q"}, True),
        ({"userId": "u", "status": "s", "queueId": "q", "note": None, "leg": ""}, True),
        ({"userId": "u", "status": "s", "queueId": "q", "queue_id": "other"}, False),
    ],
    ids=str,
)
def test_spellings_of_a_name_are_one_and_an_empty_field_is_an_absent_one(
    other: Any, is_same: bool
) -> None:
    detail = {"userId": "u", "status": "s", "queueId": "q"}
    keys = {key({"detail-type": "t", "detail": fields}) for fields in (detail, other)}
    assert (len(keys) == 1) is is_same


def test_newest_status_is_kept_for_all_other_fields_together() -> None:
    def made(leg: str, **more: Any) -> Any:
        detail = {"userId": "u", "status": "on", "timestamp": MS, "leg": leg, **more}
        return element({"detail-type": "t", "detail": detail})

    latest = made("1")["policy"]["latest"]
    assert latest != made("2")["policy"]["latest"]
    for more in ({"status": "off"}, {"timestamp": MS + 9_000}, {"eventId": "e"}, {"id": "x"}):
        assert made("1", **more)["policy"]["latest"] == latest


def test_without_a_status_and_an_event_id_all_fields_identify_an_event() -> None:
    def typed(**fields: Any) -> Any:
        detail = {"conversationId": "c", "text": "a", "id": "1", "time": 1741770000123}
        return {"detail-type": "Typing", "detail": detail | fields}

    others = [{"text": "b"}, {"id": "2"}, {"time": 1741770000124}, {"held": True}]
    assert len({key(typed(**other)) for other in [{}, *others]}) == 5
    one = element(typed())
    assert one["policy"] == {"windowMs": 0, "order": "none"}
    again = element(typed(), sent_ms=SENT_MS + 86_400_000)
    assert again["keyHash"] == one["keyHash"]


def test_numbers_as_ids() -> None:
    one = element({"detail-type": "t", "detail": {"id": "e", "conversationId": 77, "status": 3}})
    assert (one["subject"]["id"], one["state"], one["trace"]) == ("77", "3", {})


PRIVATE = ("+49 30 555 50123", "4915550100742", "jane.doe@example.com", "Köln 1", "15551234567x12")
PLAIN = ("Jane Doe", "jane1985")
"""May be a kind or a status; in any other place they are hashed."""
PLACES: dict[str, Any] = {
    "an id that nobody knows": lambda text: {"callerId": text, "customer_email_id": text},
    "a name that ends in id": lambda text: {f"{text} id": "x"},
    "a known id": lambda text: {"queueId": text, "participantId": text},
    "the subject": lambda text: {"conversationId": text},
    "the state": lambda text: {"status": text, "action": text},
    "the event's id": lambda text: {"eventId": text},
    "deeper": lambda text: {"body": {"callerId": text, "status": text}},
    "around it": lambda text: {"source": text, "organizationId": text, "version": text},
    "no state": lambda text: {"status": None, "text": text, "callerId": text},
}


READABLE = ("the state", "deeper", "around it")


def logged(one: Any) -> str:
    """Returns the parts of an element that claims and the outcome log contain."""
    trace = {name: one["trace"].get(name) for name in ("eventId", "envelopeId", "source")}
    parts = (one["key"], one["policy"], one["family"], one["topic"], trace)
    return json.dumps(parts, ensure_ascii=False)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (place, text)
        for place in PLACES
        for text in (*PRIVATE, *PLAIN)
        if text in PRIVATE or place not in READABLE
    ],
)
def test_text_that_may_be_about_a_person_is_logged_as_a_hash(place: str, text: str) -> None:
    usual = {"id": "e-1", "conversationId": "c1", "status": "connected", "time": 1741770000123}
    detail = {**usual, **PLACES[place](text)}
    whole = {"detail-type": "Call Change", "id": text, "detail": detail}
    for one in map(element, [whole] if place == "no state" else [whole, detail]):
        assert "broken" not in one
        for written in (text, text.replace(" ", ""), text.replace(" ", ".")):
            assert written.lower() not in logged(one).lower()


@pytest.mark.parametrize(
    "place", ["an id that nobody knows", "a known id", "the subject", "the state"]
)
def test_hashed_text_still_tells_events_apart(place: str) -> None:
    details = [NESTED | PLACES[place](text) for text in PRIVATE]
    keys = {key({"detail-type": "t", "detail": detail}) for detail in details}
    assert len(keys) == len(PRIVATE)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("Call of +49 30 555 50123", ""),
        ("jane@example.com called", ""),
        ("Jörg", ""),
        ("x" * 400, ""),
        ("Step 12345", ""),
        ("", "conversation.status"),
        ("Conversation Status Change", "conversation.status.change"),
        ("routing:queueConversation", "routing.queueconversation"),
        ("Wrap-up Step 2", "wrap.up.step.2"),
        ("Step 1234", "step.1234"),
        ("...", "event"),
    ],
)
def test_kind_that_looks_machine_made_names_the_family_and_another_is_hashed(
    name: str, family: str
) -> None:
    one = element({"detail-type": name, "detail": NESTED})
    hashed = f"event.{opaque(name)[1:9]}"
    assert one["family"] == (family or hashed)
    assert one["topic"] == (name if family else "")


@pytest.mark.parametrize(
    "state", ["connected", "DISCONNECTED", "conversation:started", "on hold", "on_queue", 3]
)
def test_plain_states_stay_readable(state: Any) -> None:
    one = element({"detail-type": "t", "detail": {"conversationId": "c1", "status": state}})
    assert one["key"]["sk"].startswith(f"v2/t/{state}/~")
    assert one["state"] == one["plainState"] == str(state)


@pytest.mark.parametrize("state", ["+44 20 7946 0018", "ada@example.com"])
def test_state_that_may_be_about_a_person_is_not_plain(state: str) -> None:
    one = element({"detail-type": "t", "detail": {"conversationId": "c1", "status": state}})
    assert (one["state"], "plainState" in one) == (state, False)


@pytest.mark.parametrize("text", PRIVATE)
def test_an_unknown_topic_logs_no_text_about_a_person(text: str) -> None:
    body = {"callerId": text, "status": text, "id": text, "version": 3, "conversationId": text}
    template = "v2.callers.{id}.calls.{id}"
    for time in ({}, {"timestamp": 1741770000123}):
        whole = event(template, body | time, text, text)
        for one in map(element, [whole, whole["detail"]]):
            assert "broken" not in one
            assert text.lower() not in logged(one).lower()
            assert element(event(template, body | time, text, "other"))["key"] != one["key"]


ID = "0c2d7f4e-5b1a-4f6e-9d3c-8a7b6c5d4e3f"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("conversationId", "conversation"),
        ("interactionId", "conversation"),
        ("userId", "user"),
        ("agentId", "user"),
        ("queueId", "queue"),
    ],
)
def test_the_name_of_its_id_says_what_an_event_is_about(name: str, kind: str) -> None:
    for detail in ({name: ID, "status": "connected"}, {"data": {name: ID}, "state": "connected"}):
        one = element({"detail-type": "x", "detail": detail})
        assert one["subject"] == {"type": kind, "id": ID}


@pytest.mark.parametrize("nested", ["data", "body", "payload"])
@pytest.mark.parametrize("name", ["eventType", "type", "eventName", "action"])
def test_kind_names_the_family_and_what_an_id_without_a_name_is_of(nested: str, name: str) -> None:
    one = element({name: "desk.moved", nested: {"id": ID}})
    assert (one["family"], one["state"]) == ("desk.moved", "desk.moved")
    assert one["subject"] == {"type": "desk", "id": ID}


@pytest.mark.parametrize("name", ["timestamp", "eventTime", "time", "occurredAt"])
def test_time_of_a_status_dates_it_and_is_in_no_key(name: str) -> None:
    def status(ms: int) -> Any:
        return {"conversationId": ID, "status": "connected", name: ms}

    assert element(status(MS))["occurredAtMs"] == MS
    assert key(status(MS)) == key(status(MS + 1))
