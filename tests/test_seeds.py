"""The five stories that this project was made for, through the enrichment and the claim rule.

Each has its events in the shape that people posted, and one test for each thing they wanted: act
once on copies, skip without an error, lose no repeat and no change. Retries of what fails need the
state machine and are tested with it.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from once_enrichment.normalise import normalise

from once.model.outcomes import Outcome
from once.model.rule import Event, Rows, Verdict
from tests.enrichment import sdk
from tests.enrichment.disguise import disguised
from tests.enrichment.examples import USER, agent, counters, event, snapshot
from tests.enrichment.sending import record
from tests.enrichment.topic_models import MODELS

NINE_MS = 1741770000000  # 2025-03-12T09:00:00Z
SECOND_MS = 1000

Json = dict[str, Any]


class Store:
    """The claim table, as the claim rule keeps it."""

    def __init__(self) -> None:
        self._rows = Rows()
        self._received = 0

    def deliver(self, *events: Json, sent_ms: int = NINE_MS + 2 * SECOND_MS) -> list[Verdict]:
        """Sends events at the same time, and returns what became of each."""
        verdicts = []
        for one in events:
            self._received += 1
            element = normalise(record(one, str(self._received), sent_ms))
            verdicts.append(self._rows.settle(Event.of(element), sent_ms))
        return verdicts

    def acts(self, *events: Json) -> list[bool]:
        """Delivers one event after the other, and tells which were acted on."""
        return [
            self.deliver(one, sent_ms=_sent_ms(one))[0].outcome is Outcome.PROCESSED
            for one in events
        ]


def _sent_ms(one: Json) -> int:
    """Returns a time soon after the one that an event tells."""
    return NINE_MS + 3600 * SECOND_MS + int(one.pop("sent", 0))


@pytest.fixture
def store() -> Store:
    return Store()


class TestStatusChangeDeliveredTwice:
    """`{event_id, conversation_id, status}`: the same change arrives under two ids within
    milliseconds, and a customer is called back twice."""

    @staticmethod
    def change(event_id: str, status: str, sent_ms: int = 0) -> Json:
        detail = {"event_id": event_id, "conversation_id": "c-1", "status": status}
        whole = {"detail-type": "Conversation Status Change", "detail": detail}
        return whole | ({"sent": sent_ms} if sent_ms else {})

    def test_copies_milliseconds_apart_act_once(self, store: Store) -> None:
        assert store.acts(self.change("e1", "connected"), self.change("e2", "connected", 3)) == [
            True,
            False,
        ]

    def test_copies_at_the_same_time_act_once(self, store: Store) -> None:
        verdicts = store.deliver(self.change("e1", "connected"), self.change("e2", "connected"))
        assert sorted(one.outcome for one in verdicts) == [Outcome.DUPLICATE, Outcome.PROCESSED]

    def test_copy_is_skipped_with_a_reason_and_no_error(self, store: Store) -> None:
        store.deliver(self.change("e1", "connected"))
        (skipped,) = store.deliver(self.change("e2", "connected"))
        assert (skipped.outcome, skipped.reason) == (Outcome.DUPLICATE, "SAME_KEY")

    def test_another_status_acts(self, store: Store) -> None:
        changes = [self.change(f"e{n}", s) for n, s in enumerate(("queued", "connected"))]
        assert store.acts(*changes) == [True, True]

    def test_real_repeat_after_minutes_acts(self, store: Store) -> None:
        again = self.change("e2", "connected", sent_ms=300 * SECOND_MS)
        assert store.acts(self.change("e1", "connected"), again) == [True, True]


class TestEventWithANestedBody:
    """`{eventId, eventType, timestamp, body: {conversationId, status}}`, and for users
    `{eventType: "user.update", body: {id}}`."""

    @staticmethod
    def update(event_id: str, status: str, ms: int) -> Json:
        return {
            "eventId": event_id,
            "eventType": "conversation.updated",
            "timestamp": NINE_MS + ms,
            "body": {"conversationId": "c-1", "status": status},
        }

    def test_copies_milliseconds_apart_act_once(self, store: Store) -> None:
        first, copied = self.update("e1", "connected", 1), self.update("e2", "connected", 4)
        assert store.acts(first, copied) == [True, False]

    def test_status_that_returns_acts(self, store: Store) -> None:
        states = [(1, "connected"), (5_001, "hold"), (9_001, "connected")]
        assert store.acts(*(self.update(f"e{ms}", s, ms) for ms, s in states)) == [True] * 3

    def test_older_status_that_arrives_late_is_stale(self, store: Store) -> None:
        store.acts(self.update("e1", "connected", 5_001))
        (late,) = store.deliver(self.update("e2", "queued", 1))
        assert late.outcome is Outcome.STALE

    def test_user_update_is_about_the_user_and_each_id_is_an_event(self, store: Store) -> None:
        updates = [
            {"eventId": f"e{n}", "eventType": "user.update", "body": {"id": "u-1"}} for n in (1, 2)
        ]
        assert store.acts(*updates, updates[0]) == [True, True, False]


class TestNewestStateOfAConversation:
    """`{id, conversationId, state, timestamp}`: an old state must not follow a newer one."""

    @staticmethod
    def state(event_id: str, state: str, ms: int) -> Json:
        timestamp = NINE_MS + ms
        return {
            "id": event_id,
            "conversationId": "c-1",
            "state": state,
            "timestamp": timestamp,
        }

    def test_copies_milliseconds_apart_act_once(self, store: Store) -> None:
        assert store.acts(self.state("a", "alerting", 1), self.state("b", "alerting", 9)) == [
            True,
            False,
        ]

    def test_late_older_state_does_not_act(self, store: Store) -> None:
        states = [self.state("b", "connected", 4_001), self.state("a", "alerting", 1)]
        assert store.acts(*states) == [True, False]

    def test_two_states_in_one_millisecond_both_act(self, store: Store) -> None:
        assert store.acts(self.state("a", "alerting", 1), self.state("b", "connected", 1)) == [
            True,
            True,
        ]

    def test_change_in_a_field_that_nobody_knows_acts(self, store: Store) -> None:
        held = [self.state(n, "connected", 1) | {"held": h} for n, h in (("a", True), ("b", False))]
        assert store.acts(*held) == [True, True]


class TestNotificationWithoutAStatus:
    """`{interactionId, type}` and `{data: {id, …}, type}`: nothing in them is a status."""

    @staticmethod
    def updated(event_id: str) -> Json:
        return {
            "type": "conversation:call:updated",
            "interactionId": "i-1",
            "eventId": event_id,
        }

    def test_two_event_ids_are_two_events(self, store: Store) -> None:
        assert store.acts(self.updated("e1"), self.updated("e2")) == [True, True]

    def test_the_same_event_id_acts_once_even_days_later(self, store: Store) -> None:
        later = self.updated("e1") | {"sent": 3 * 86_400 * SECOND_MS}
        assert store.acts(self.updated("e1"), later) == [True, False]

    def test_other_data_of_a_resource_is_another_event(self, store: Store) -> None:
        def data(**fields: Any) -> Json:
            return {"type": "conversation.updated", "data": {"id": "c-1", **fields}}

        assert store.acts(data(held=True), data(held=False), data(held=True)) == [True, True, False]


class TestQueueConversation:
    """`routing:queueConversation`: a queue reports its conversations, in bursts of copies."""

    @staticmethod
    def reported(status: str, ms: int, event_id: str) -> Json:
        detail = {
            "conversationId": "c-1",
            "queueId": "q-1",
            "status": status,
            "eventId": event_id,
            "timestamp": NINE_MS + ms,
        }
        return {"detail-type": "routing:queueConversation", "detail": detail}

    def test_burst_acts_once_for_each_status(self, store: Store) -> None:
        burst = [
            self.reported(status, ms, f"{status}-{ms}")
            for status, start_ms in (("queued", 1), ("connected", 2_001))
            for ms in range(start_ms, start_ms + 30, 10)
        ]
        verdicts = store.deliver(*burst)
        assert [one.outcome is Outcome.PROCESSED for one in verdicts].count(True) == 2

    def test_two_queues_are_told_apart(self, store: Store) -> None:
        other = self.reported("queued", 1, "b")
        other["detail"]["queueId"] = "q-2"
        assert store.acts(self.reported("queued", 1, "a"), other) == [True, True]


def published(one: Json, ms: int) -> Json:
    one["detail"]["timestamp"] = NINE_MS + ms
    return one


def minutes_apart(states: list[Json]) -> Iterator[Json]:
    """Publishes one state each minute, and each a second time, unchanged, half a minute later."""
    for number, state in enumerate(states):
        for half in (0, 30):
            again: Json = json.loads(json.dumps(state))
            yield published(again, (60 * number + half) * SECOND_MS + 123)


def station(action: str) -> Json:
    template = "v2.users.{id}.station"
    return event(template, {"associatedStation": {"id": "s"}}, USER, metadata={"action": action})


def adherence(state: str) -> Json:
    template = "v2.users.{id}.workforcemanagement.adherence"
    return event(template, {"user": {"id": USER}, "routingStatus": state}, USER)


CALLS = ({}, {"muted": True}, {}, {"muted": True}, {"held": True}, {})
RETURNING = {
    "snapshots": [snapshot(agent(**call)) for call in CALLS],
    "adherence": [adherence(s) for s in ("IDLE", "INTERACTING", "IDLE", "INTERACTING")],
    "station": [station(a) for a in ("Associated", "Disassociated", "Associated")],
    "counters": [counters(call=n) for n in (1, 2, 1, 2)],
}


@pytest.mark.parametrize("kind", RETURNING)
def test_state_that_returns_acts_each_time_and_an_unchanged_repeat_never(
    store: Store, kind: str
) -> None:
    states = RETURNING[kind]
    assert store.acts(*minutes_apart(states)) == [True, False] * len(states)


def test_state_that_returns_within_milliseconds_acts_each_time(store: Store) -> None:
    burst = [published(one, 7 * n) for n, one in enumerate(RETURNING["snapshots"][:3])]
    assert [one.outcome for one in store.deliver(*burst)] == [Outcome.PROCESSED] * 3


SOME = sorted(MODELS)[::8]  # tests/enrichment/test_topics.py compares the keys of all


@pytest.mark.parametrize("topic", SOME)
def test_disguised_copy_of_any_topic_is_not_acted_on(store: Store, topic: str) -> None:
    one = sdk.event(topic, 1)
    copied = disguised(one, 1)
    copied["detail"]["timestamp"] = f"{one['detail']['timestamp'][:-4]}999Z"
    one["detail"]["timestamp"] = f"{one['detail']['timestamp'][:-4]}996Z"
    assert store.acts(one, copied) == [True, False]
