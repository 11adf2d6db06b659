"""Settles the stories that this project was made for, in the shapes of events that people posted,
and tells which events act."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tests.enrichment.examples import NINE_MS, USER, agent, event, snapshot
from tests.enrichment.test_sequences import MINUTE_MS, settle

Json = dict[str, Any]
LATER_MS = NINE_MS + 60 * MINUTE_MS
DAY_MS = 86_400_000


def change(event_id: str, status: str, sent_ms: int = LATER_MS) -> Json:
    """Returns a status change without a time, which arrives under two ids."""
    detail = {"event_id": event_id, "conversation_id": "c-1", "status": status}
    return {"detail-type": "Conversation Status Change", "detail": detail, "sent": sent_ms}


def update(event_id: str, status: str, ms: int) -> Json:
    """Returns a status in a nested body."""
    body = {"conversationId": "c-1", "status": status}
    event = {"eventId": event_id, "eventType": "conversation.updated", "timestamp": NINE_MS + ms}
    return event | {"body": body}


def state(event_id: str, state: str, ms: int, **more: Any) -> Json:
    """Returns a flat state: an old state must not follow a newer one."""
    flat = {"id": event_id, "conversationId": "c-1", "state": state, "timestamp": NINE_MS + ms}
    return flat | more


def notice(event_id: str, sent_ms: int = LATER_MS) -> Json:
    """Returns a notification in which nothing is a status."""
    one = {"type": "conversation:call:updated", "interactionId": "i-1", "eventId": event_id}
    return one | {"sent": sent_ms}


def in_queue(status: str, ms: int, queue: str = "q-1") -> Json:
    """A queue reports its conversations, in bursts of copies."""
    detail = {"conversationId": "c-1", "queueId": queue, "status": status, "eventId": f"e-{ms}"}
    detail["timestamp"] = str(NINE_MS + ms)
    return {"detail-type": "routing:queueConversation", "detail": detail}


def resource(**fields: Any) -> Json:
    return {"type": "conversation.updated", "data": {"id": "c-1", **fields}}


def own(**fields: Any) -> Json:
    return {"detail-type": "Case Change", "detail": {"conversationId": "c-1", **fields}}


def outbox(event_id: str, attempt: int) -> Json:
    ms = NINE_MS + attempt * DAY_MS + 1
    return own(eventId=event_id, attempt=attempt, timestamp=ms) | {"sent": NINE_MS + 4 * DAY_MS}


def update_of_user(event_id: str) -> Json:
    return {"eventId": event_id, "eventType": "user.update", "body": {"id": "u-1"}}


def tier(tier: str, ms: int) -> Json:
    return {"type": "tier", "id": "u", "userId": "u", "tier": tier, "timestamp": NINE_MS + ms}


STORIES: dict[str, tuple[list[Json], str]] = {
    "copies of a status change": (
        [change("e1", "connected"), change("e2", "connected", LATER_MS + 3)],
        "acted SAME_KEY",
    ),
    "another status": ([change("e1", "queued"), change("e2", "connected")], "acted acted"),
    "a real repeat after minutes": (
        [change("e1", "connected"), change("e2", "connected", LATER_MS + 5 * MINUTE_MS)],
        "acted acted",
    ),
    "copies in a nested body": (
        [update("e1", "connected", 1), update("e2", "connected", 4)],
        "acted SAME_KEY",
    ),
    "a status that returns": (
        [update("a", "connected", 1), update("b", "hold", 5_001), update("c", "connected", 9_001)],
        "acted acted acted",
    ),
    "an older status that arrives late": (
        [update("e1", "connected", 5_001), update("e2", "queued", 1)],
        "acted NEWER_STATE",
    ),
    "updates of a user by their ids": (
        [update_of_user("e1"), update_of_user("e2"), update_of_user("e1")],
        "acted acted SAME_EVENT_ID",
    ),
    "copies of a flat state": (
        [state("a", "alerting", 1), state("b", "alerting", 9)],
        "acted SAME_KEY",
    ),
    "two states in one millisecond": (
        [state("a", "alerting", 1), state("b", "connected", 1)],
        "acted acted",
    ),
    "an older flat state that arrives late": (
        [state("b", "connected", 4_001), state("a", "alerting", 1)],
        "acted NEWER_STATE",
    ),
    "a change in a field that nobody knows": (
        [state("a", "connected", 1, held=True), state("b", "connected", 1, held=False)],
        "acted acted",
    ),
    "an id that is no event id": (
        [state("u", "open", 1), state("u", "pending", 60_001), state("u", "open", 120_001)],
        "acted acted acted",
    ),
    "notices by their ids, days later too": (
        [notice("e1"), notice("e2"), notice("e1", LATER_MS + 3 * DAY_MS)],
        "acted acted SAME_EVENT_ID",
    ),
    "other data of a resource": (
        [resource(held=True), resource(held=False), resource(held=True)],
        "acted acted SAME_KEY",
    ),
    "a burst in a queue": (
        [in_queue(status, ms + n) for ms, status in ((1, "queued"), (2_001, "on")) for n in (0, 9)],
        "acted SAME_KEY acted SAME_KEY",
    ),
    "two queues": ([in_queue("queued", 1), in_queue("queued", 1, "q-2")], "acted acted"),
    "an object without a status that returns": (
        [tier("gold", 1), tier("silver", 60_001), tier("gold", 120_001)],
        "acted acted acted",
    ),
    "an event id without a status is the identity": (
        [outbox("e-1", 0), outbox("e-1", 1), outbox("e-2", 2)],
        "acted SAME_EVENT_ID acted",
    ),
}


@pytest.mark.parametrize("story", STORIES)
def test_events_of_a_story_act_once_each(story: str) -> None:
    events, reasons = STORIES[story]
    assert settle(copy.deepcopy(events)) == reasons.split()


@pytest.mark.parametrize("name", ["leg", "participant", "channel", "agentEmail", "queueId"])
def test_two_things_never_make_one_another_stale(name: str) -> None:
    legs = (("A", NINE_MS + 901), ("B", NINE_MS + 1))
    one, other = (own(status="up", timestamp=ms, **{name: text}) for text, ms in legs)
    assert settle([one, other]) == ["acted", "acted"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        *((name, "acted") for name in ("source", "version")),
        *((name, "SAME_KEY") for name in ("correlationId", "correlation_id", "metadata")),
    ],
)
def test_note_of_the_publisher_on_a_copy_does_not_count(name: str, reason: str) -> None:
    pair = [own(status="done", timestamp=NINE_MS + 1, **{name: text}) for text in ("ivr", "bot")]
    assert settle(pair) == ["acted", reason]


def minutes_apart(states: list[Json]) -> Iterator[Json]:
    """Publishes one state each minute, and each a second time, unchanged, half a minute later."""
    for number, state in enumerate(states):
        for seconds in (0, 30):
            again = copy.deepcopy(state)
            again["detail"]["timestamp"] = NINE_MS + number * MINUTE_MS + seconds * 1000 + 123
            yield again


def of_user(topic: str, body: Json, **more: Any) -> Json:
    return event(f"v2.users.{{id}}.{topic}", body, USER, **more)


RETURNING = {
    "snapshot": [snapshot(agent(**call)) for call in ({}, {"muted": True}, {}, {"held": True}, {})],
    "adherence": [
        of_user("workforcemanagement.adherence", {"user": {"id": USER}, "routingStatus": state})
        for state in ("IDLE", "INTERACTING", "IDLE")
    ],
    "station": [
        of_user("station", {"associatedStation": {"id": "s"}}, metadata={"action": action})
        for action in ("Associated", "Disassociated", "Associated")
    ],
    "counters": [of_user("conversationsummary", {"call": {"active": n}}) for n in (1, 2, 1)],
    "out of office": [of_user("outofoffice", {"active": n}) for n in (True, False, True)],
}


@pytest.mark.parametrize("kind", RETURNING)
def test_state_that_returns_acts_each_time_and_an_unchanged_repeat_never(kind: str) -> None:
    states = RETURNING[kind]
    assert settle([*minutes_apart(states)]) == ["acted", "UNCHANGED"] * len(states)


def test_state_that_returns_within_milliseconds_acts_each_time() -> None:
    burst = copy.deepcopy(RETURNING["snapshot"][:3])
    for number, state in enumerate(burst):
        state["detail"]["timestamp"] = NINE_MS + 7 * number + 1
    assert settle(burst) == ["acted"] * 3
