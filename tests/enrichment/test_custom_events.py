"""The shapes that people build themselves, in the spellings that were met."""

from typing import Any

import pytest

from tests.enrichment.sending import element, elements, key, record

STATUS_CHANGE = {
    "detail-type": "Conversation Status Change",
    "detail": {"event_id": "e1", "conversation_id": "c1", "status": "connected"},
}


def test_a_status_change_without_id_and_time_of_its_envelope() -> None:
    one = element(STATUS_CHANGE)
    assert one["family"] == "conversation.status.change"
    assert one["subject"] == {"type": "conversation", "id": "c1"}
    assert one["state"] == "connected"
    assert one["trace"] == {"eventId": "e1"}
    assert one["policy"] == {"windowMs": 60_000, "order": "none"}
    assert one["key"] == {
        "pk": "-/conversation/c1",
        "sk": "v1/conversation.status.change/status=connected",
    }


SHAPES = [
    {
        "detail": {
            "eventId": "e",
            "eventType": "conversation:started",
            "timestamp": "2025-03-12T09:00:00.123Z",
            "body": {"conversationId": "c1", "status": "connected"},
        }
    },
    {
        "detail": {
            "id": "e",
            "conversationId": "c1",
            "state": "connected",
            "timestamp": 1741770000123,
        }
    },
    {"detail-type": "x", "detail": {"interactionId": "c1", "status": "connected"}},
    {"detail-type": "x", "detail": {"interaction_id": "c1", "status": "connected"}},
    {"detail": {"data": {"id": "c1"}, "type": "conversation.updated"}},
    {
        "detail-type": "routing:queueConversation",
        "detail": {
            "conversationId": "c1",
            "status": "connected",
            "timestamp": "2025-03-12T09:00:00Z",
        },
    },
    {"detail": {"eventType": "routing:queueConversation", "conversationId": "c1"}},
    {"event-id": "e", "conversation": {"id": "c1"}, "eventType": "conversation:ended"},
    {"conversation_id": "c1", "status": "connected"},
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_each_shape_is_about_its_conversation(shape: Any) -> None:
    one = element(shape)
    assert one["subject"] == {"type": "conversation", "id": "c1"}
    assert one["policy"]["windowMs"] > 0
    assert one["ids"]["conversationId"] == "c1"


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_copy_differs_in_its_event_id_and_no_more(shape: Any) -> None:
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


def test_spellings_of_a_name_are_one() -> None:
    camel = {"detail-type": "t", "detail": {"conversationId": "c", "status": "s", "queueId": "q"}}
    snake = {
        "detail-type": "t",
        "detail": {"conversation_id": "c", "status": "s", "queue_id": "q"},
    }
    assert key(camel) == key(snake)


def test_ids_beside_the_subject_tell_events_apart() -> None:
    def joined(queue: str) -> Any:
        return {"detail-type": "t", "detail": {"userId": "u", "status": "on", "queueId": queue}}

    assert key(joined("a")) != key(joined("b"))


def test_without_a_known_state_the_content_is_the_state() -> None:
    def typed(text: str, event_id: str) -> Any:
        detail = {"conversationId": "c", "text": text, "eventId": event_id}
        return {"detail-type": "Typing", "detail": detail}

    assert key(typed("a", "1")) == key(typed("a", "2"))
    assert key(typed("a", "1")) != key(typed("b", "1"))


@pytest.mark.parametrize(
    ("time", "window_ms"),
    [("2025-03-12T09:00:00.123Z", 500), ("2025-03-12T09:00:00Z", 1500), (1741770000, 1500)],
)
def test_the_window_is_what_the_clock_can_tell(time: Any, window_ms: int) -> None:
    one = element({"detail": {"conversationId": "c", "status": "s", "timestamp": time}})
    assert one["policy"]["windowMs"] == window_ms
    assert one["policy"]["order"] == "latest"


def test_the_same_publisher_id_never_opens_a_new_occurrence() -> None:
    def at(time: int, event_id: str) -> Any:
        return {"detail": {"id": event_id, "conversationId": "c", "state": "s", "timestamp": time}}

    first, late, other = at(1741770000001, "e"), at(1741770009001, "e"), at(1741770009002, "f")
    answer = elements(record(first, "1"), record(late, "2"), record(other, "3"))
    assert [one["kind"] for one in answer] == ["event", "copy", "event"]


def test_numbers_as_ids() -> None:
    one = element({"detail-type": "t", "detail": {"conversationId": 77, "status": 3}})
    assert one["subject"]["id"] == "77"
    assert one["state"] == "3"
