"""The known traps of Genesys' events that no rule of all topics covers (test_topics.py)."""

from typing import Any

import pytest
from once_enrichment import identity

from tests.enrichment.examples import (
    CONVERSATION,
    NINE_MS,
    QUEUE,
    USER,
    agent,
    conversation,
    event,
    named,
    presence,
    snapshot,
)
from tests.enrichment.sending import SENT_MS, body, changed, element, key


def test_presence_and_numbers_of_two_selections_are_kept_side_by_side() -> None:
    own, teams = element(presence()), element(presence(source="MICROSOFTTEAMS"))
    assert own["policy"]["latest"] != teams["policy"]["latest"]
    waiting = named("analytics.queue.observations")
    other = changed(waiting, "data", 0, "metrics", 0, "metric", to="oInteracting")
    assert element(waiting)["policy"]["latest"] != element(other)["policy"]["latest"]


def test_snapshots_that_differ_in_attributes_alone_are_two_states_unless_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other = snapshot(agent()), snapshot(agent() | {"attributes": {"language": "fr"}})
    assert key(one) != key(other)
    monkeypatch.setitem(identity.IGNORED, "user.conversations*", ["participants.*.attributes"])
    assert key(one) == key(other) != key(snapshot(agent(held=True)))
    in_queue = "v2.routing.queues.{id}.conversations"
    assert key(snapshot(agent(), topic=in_queue)) != key(
        snapshot(agent() | {"attributes": {}}, topic=in_queue)
    )


@pytest.mark.parametrize(
    "participants",
    [[agent(), None], [None], "many", {"id": "p"}],
    ids=["a null", "null", "text", "map"],
)
def test_snapshot_with_participants_of_any_form_keeps_its_changes(participants: Any) -> None:
    def states(state: str) -> Any:
        return changed(snapshot(agent()), "participants", to=[participants, {"state": state}])

    assert key(states("connected")) != key(states("disconnected"))
    assert element(states("connected"))["policy"]["order"] == "changes"


def test_station_is_told_by_its_metadata_and_may_have_no_body() -> None:
    def station(action: str, **detail: Any) -> Any:
        metadata = {"CorrelationId": "c", "action": action}
        return event("v2.users.{id}.station", {"id": "s"}, USER, metadata=metadata, **detail)

    gone, absent = station("Disassociated", eventBody=None), station("Disassociated")
    del absent["detail"]["eventBody"]
    one = element(gone)
    assert one["subject"] == {"type": "user", "id": USER}
    assert one["metadata"] == {"action": "Disassociated"}
    assert body(one) is None, "a reader takes null for an empty body"
    assert key(absent) == key(gone)
    assert key(station("Associated")) != key(station("WebRTCMigration"))


@pytest.mark.parametrize("name", ["wrapupCode", "flowOutcomeValue", "outboundContactId"])
def test_text_in_place_of_an_id_is_hashed_in_the_key(name: str) -> None:
    suffix = {"wrapupCode": "acw", "flowOutcomeValue": "flow.outcome"}.get(name, "outbound")
    private = element(conversation(suffix, **{name: "Jane Doe"}))["key"]["sk"]
    assert "Jane" not in private
    assert private != element(conversation(suffix, **{name: "John Doe"}))["key"]["sk"]


@pytest.mark.parametrize("topic", ["v2.s.{id}", "v2.x..{id}", "v2..{id}", "v2.{id}.{id}"])
def test_topic_with_an_odd_slot_has_a_subject_type(topic: str) -> None:
    one = element(event(topic, {"status": "x"}, "a7", "b8"))
    assert one["subject"]["type"]
    assert all(one["key"]["pk"].split("/"))


def test_snapshots_of_user_and_queue_are_about_the_conversation() -> None:
    to_user = element(snapshot(agent()))
    to_queue = element(snapshot(agent(), topic="v2.routing.queues.{id}.conversations.calls"))
    assert to_user["key"]["pk"] == to_queue["key"]["pk"]
    assert to_user["key"]["sk"] != to_queue["key"]["sk"]
    assert to_user["subject"] == {"type": "conversation", "id": CONVERSATION}
    assert to_user["ids"]["userId"] == USER
    assert to_queue["ids"]["queueId"] == QUEUE


def test_state_that_only_the_queue_dates_is_not_ordered_and_says_so() -> None:
    bare = dict(named("user.conversationsummary")["detail"], timestamp=None)
    one = element(bare)
    assert one["occurredAtMs"] == SENT_MS
    assert one["policy"] == {"windowMs": 60_000, "order": "none"}
    assert "cannot be ordered" in one["note"]
    assert element(bare, sent_ms=None)["detail"].startswith("NO_TIME: ")


@pytest.mark.parametrize(
    "field",
    [
        *("eventTime", "eventTimeMs", "timestamp", "metricDate", "modifiedDate", "modifyDate"),
        *("dateModified", "modifiedDateTime", "changedDate", "invocationTime", "exportTimestamp"),
    ],
)
def test_time_of_an_undeclared_topic_is_known_by_its_name(field: str) -> None:
    one = element(event("v2.new.{id}.things", {field: NINE_MS}, "a7"))
    assert one["occurredAtMs"] == NINE_MS
    assert one["policy"] == {"windowMs": 0, "order": "none"}


@pytest.mark.parametrize(
    "name", ["state", "status", "action", "operation", "eventType", "currentOperation"]
)
def test_state_of_an_undeclared_topic_is_known_by_its_name(name: str) -> None:
    assert element(event("v2.new.{id}.things", {name: "opened"}, "a7"))["state"] == "opened"


def test_time_in_the_far_future_is_ignored_but_stays_in_the_key() -> None:
    ahead = conversation("user.start", eventTime=SENT_MS + 86_400_000)
    one = element(ahead)
    assert one["occurredAt"] == "2025-03-12T09:00:01.300Z"
    assert "2026-05-05T10:00:02.000Z" in one["note"]
    assert key(ahead) == key(ahead, sent_ms=SENT_MS + 2 * 86_400_000)


@pytest.mark.parametrize("kind", ["conversation", "user", "queue"])
def test_topic_without_an_id_is_about_the_first_known_id_of_its_body(kind: str) -> None:
    one = element(event("v2.new.things", {"other": "x", f"{kind}Id": "a7"}))
    assert one["subject"] == {"type": kind, "id": "a7"}


@pytest.mark.parametrize(
    "name",
    ["user", "queue", "conversation", "entity", "agent", "member", "sender", "flow", "team"],
)
def test_id_of_a_known_object_is_an_id_of_the_event(name: str) -> None:
    body = {
        name: {"id": "a7"},
        "id": "n1",
        "correlationId": "c",
        "eventId": "e",
        "deskId": "d",
        "text": "x",
    }
    one = element(event("v2.new.{id}.things", body, "n1"))
    assert one["ids"] == {"newId": "n1", f"{name}Id": "a7", "deskId": "d"}
