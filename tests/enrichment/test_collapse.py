"""Copies inside a batch: the earliest is kept, and only what is a copy is collapsed."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from once_enrichment.collapse import collapse

from tests.enrichment.examples import conversation, presence
from tests.enrichment.sending import SENT_MS, elements, record


def kinds(answer: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["messageId"], one.get("copyOf", one["kind"])) for one in answer]


def at(published: str) -> Any:
    """A windowed event, published at this second and millisecond of nine o'clock."""
    timestamp = f"2025-03-12T09:00:{published}Z"
    return {"detail": {"conversationId": "c", "status": "connected", "timestamp": timestamp}}


def test_the_earliest_is_kept_wherever_it_stands() -> None:
    answer = elements(
        record(at("10.300"), "late"), record(at("10.100"), "early"), record(at("10.200"), "middle")
    )
    assert kinds(answer) == [("late", "early"), ("early", "event"), ("middle", "early")]


def test_of_equal_times_the_first_is_kept() -> None:
    same = conversation("user.start")
    answer = elements(record(same, "a"), record(same, "b"), record(same, "c"))
    assert kinds(answer) == [("a", "event"), ("b", "a"), ("c", "a")]


def test_exact_copies_collapse_whatever_their_publish_time() -> None:
    later = conversation("user.start")
    later["detail"]["timestamp"] = "2025-03-14T09:00:00.000Z"
    answer = elements(record(conversation("user.start"), "a"), record(later, "b"))
    assert kinds(answer) == [("a", "event"), ("b", "a")]


def test_beyond_the_window_the_same_state_came_again() -> None:
    answer = elements(
        *(record(at(second), second) for second in ("10.001", "10.500", "10.502", "10.900"))
    )
    assert kinds(answer) == [
        ("10.001", "event"),
        ("10.500", "10.001"),
        ("10.502", "event"),
        ("10.900", "10.502"),
    ]


def test_the_window_is_as_wide_as_the_coarser_clock_needs() -> None:
    coarse, fine = at("10.000"), at("11.400")
    assert kinds(elements(record(coarse, "a"), record(fine, "b"))) == [("a", "event"), ("b", "a")]


def test_different_events_stay() -> None:
    answer = elements(
        record(presence(), "a"),
        record(presence(source="OTHER"), "b"),
        record(conversation("user.start"), "c"),
        record("nothing", "d"),
        record("nothing", "e"),
    )
    assert [kind for _, kind in kinds(answer)] == ["event", "event", "event", "parked", "parked"]


def test_a_copy_has_the_subject_key_of_the_one_that_was_kept() -> None:
    kept, copy = elements(record(presence(), "a"), record(presence(), "b"))
    assert copy["subjectKey"] == kept["subjectKey"]


def test_a_copy_keeps_what_its_own_message_needs_to_be_handed_back() -> None:
    later = record(presence(), "b", sent_ms=SENT_MS + 5)
    later["attributes"]["ApproximateReceiveCount"] = "3"
    _, copy = elements(record(presence(), "a"), later)
    assert copy["receiptHandle"] == "handle-of-b"
    assert (copy["receives"], copy["sentAtMs"]) == (3, SENT_MS + 5)


EVENTS = st.builds(
    lambda key, ms, window_ms, event_id, number: {
        "messageId": number,
        "kind": "event",
        "receiptHandle": "handle",
        "receives": 1,
        "sentAtMs": ms,
        "subjectKey": "subject",
        "key": {"pk": "pk", "sk": key},
        "occurredAtMs": ms,
        "policy": {"windowMs": window_ms},
        "trace": {"eventId": event_id} if event_id else {},
    },
    st.sampled_from("ab"),
    st.integers(0, 3000),
    st.sampled_from([500, 1500]),
    st.sampled_from(["", "e", "f"]),
    st.uuids().map(str),
)


@given(st.lists(EVENTS, max_size=8))
def test_each_message_is_kept_or_points_to_one_of_its_key_that_is(
    events: list[dict[str, Any]],
) -> None:
    answer = collapse(events)
    assert [one["messageId"] for one in answer] == [one["messageId"] for one in events]
    kept = {one["messageId"]: one for one in answer if one["kind"] == "event"}
    for before, after in zip(events, answer, strict=True):
        if after["kind"] == "copy":
            original = kept[after["copyOf"]]
            assert original["key"] == before["key"]
            assert original["occurredAtMs"] <= before["occurredAtMs"]


def test_message_delivered_twice_in_one_batch_is_one_element_with_the_newer_handle() -> None:
    first, other = record(conversation("user.start"), "a"), record(conversation("acw"), "b")
    again = {**first, "receiptHandle": "newer"}
    answer = elements(first, other, again)
    assert kinds(answer) == [("a", "event"), ("b", "event")]
    assert answer[0]["receiptHandle"] == "newer"


def test_changes_collapse_at_an_equal_time_only() -> None:
    def state(key: str, ms: int, message_id: str) -> dict[str, Any]:
        return {
            **elements(record(presence(), message_id))[0],
            "idempotencyKey": key,
            "occurredAtMs": ms,
            "policy": {"windowMs": 0, "order": "changes", "latest": "latest/f"},
        }

    returned = [state("A", 1, "a"), state("B", 2, "b"), state("A", 3, "c"), state("A", 3, "d")]
    assert kinds(collapse(returned)) == [
        ("a", "event"),
        ("b", "event"),
        ("c", "event"),
        ("d", "c"),
    ]
