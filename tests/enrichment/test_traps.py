"""The known traps of Genesys' events, one test each."""

import copy
import json
from typing import Any

import pytest
from once_enrichment import paths

from tests.enrichment.examples import (
    CONVERSATION,
    NINE_MS,
    ORGANISATION,
    QUEUE,
    USER,
    agent,
    audit,
    conversation,
    counters,
    event,
    presence,
    snapshot,
    transcription,
)
from tests.enrichment.sending import SENT_MS, body, changed, element, key


def test_two_sessions_of_one_participant() -> None:
    assert key(conversation("user.end", sessionId="a")) != key(
        conversation("user.end", sessionId="b")
    )


def test_attributes_changed_twice_in_a_millisecond() -> None:
    first = conversation("attributes", attributes={" language": "de"})
    second = conversation("attributes", attributes={" language": "de", "tier": "gold"})
    reordered = conversation("attributes", attributes={"tier": "gold", " language": "de"})
    assert key(first) != key(second)
    assert key(second) == key(reordered)


def test_attributes_belong_to_no_session() -> None:
    attributes = conversation("attributes", attributes={"a": "b"})
    del attributes["detail"]["eventBody"]["sessionId"]
    assert "note" not in element(attributes)


def test_user_end_on_requeue_is_told_from_the_later_end() -> None:
    requeued = conversation("user.end", sessionId="first", disconnectType="TRANSFER_NOANSWER")
    ended = conversation("user.end", sessionId="second", eventTime=NINE_MS + 60_000)
    assert key(requeued) != key(ended)
    assert element(requeued)["key"]["pk"] == element(ended)["key"]["pk"]


def test_flow_outcome_twice_in_a_session() -> None:
    first = conversation("flow.outcome", flowOutcomeId="sold", flowOutcomeValue="SUCCESS")
    other = conversation("flow.outcome", flowOutcomeId="informed", flowOutcomeValue="SUCCESS")
    again = conversation(
        "flow.outcome",
        flowOutcomeId="sold",
        flowOutcomeValue="SUCCESS",
        flowOutcomeStartTime=NINE_MS - 5,
    )
    assert len({key(first), key(other), key(again)}) == 3


def test_transcription_partial_and_final() -> None:
    partial, final = transcription(("u1", False)), transcription(("u1", True))
    assert key(partial) != key(final)


def test_transcription_ended_without_transcripts() -> None:
    ended = transcription(status={"offsetMs": 90_000, "status": "SESSION_ENDED"})
    del ended["detail"]["eventBody"]["transcripts"]
    one = element(ended)
    assert one["state"] == "SESSION_ENDED"
    assert one["policy"]["windowMs"] == 0
    assert key(ended) != key(transcription(("u1", True)))


def test_the_same_presence_set_by_two_sources() -> None:
    own, teams = presence(), presence(source="MICROSOFTTEAMS")
    assert key(own) != key(teams)
    assert element(own)["policy"]["latest"] != element(teams)["policy"]["latest"]


def test_snapshots_that_differ_in_attributes_alone_are_two_states_unless_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, other = snapshot(agent()), snapshot(agent() | {"attributes": {"language": "fr"}})
    assert key(one) != key(other)
    monkeypatch.setitem(paths.IGNORED, "user.conversations*", ["participants.*.attributes"])
    same = key(one) == key(other)
    held = key(snapshot(agent(held=True)))
    monkeypatch.undo()
    assert same
    assert held != key(one)


def test_snapshots_that_differ_in_a_self_link_are_one_state() -> None:
    def linked(uri: str) -> Any:
        division = {"division": {"id": "d", "selfUri": uri}, "entities": [{"selfUri": uri}]}
        one = snapshot(agent())
        one["detail"]["eventBody"] |= {"selfUri": uri, "divisions": [division]}
        return one

    assert key(linked("/api/v2/1")) == key(linked("/api/v2/2"))


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
    def station(action: str, given: Any) -> Any:
        template = "v2.users.{id}.station"
        one = event(template, {}, USER, metadata={"CorrelationId": "c", "action": action})
        one["detail"]["eventBody"] = given
        if given is ...:
            del one["detail"]["eventBody"]
        return one

    here = {"associatedStation": {"id": "s"}}
    gone = element(station("Disassociated", None))
    assert gone["policy"]["order"] == "changes"
    assert gone["subject"] == {"type": "user", "id": USER}
    assert gone["metadata"] == {"action": "Disassociated"}
    assert body(gone) is None, "a reader takes null for an empty body"
    assert element(station("Disassociated", ...))["key"] == gone["key"]
    assert len({key(station(a, here)) for a in ("Associated", "WebRTCMigration")}) == 2


def test_work_item_published_to_two_queues_is_two_events() -> None:
    body = {"id": "w", "dateModified": "2025-03-12T09:00:00.123Z", "operation": "UPDATE"}
    template = "v2.taskmanagement.workitems.queues.{id}"
    assert key(event(template, body, "queue-1")) != key(event(template, body, "queue-2"))


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


def test_schedules_of_two_weeks_in_any_order_are_both_acted_on() -> None:
    template = "v2.workforcemanagement.businessunits.{id}.schedules"
    for week in ("2025-03-17", "2025-03-10"):
        one = element(event(template, {"result": {"weekDate": week}}, "unit"))
        assert one["policy"] == {"windowMs": 500, "order": "none"}


def test_a_timestamp_that_cannot_order_a_state_is_said() -> None:
    bare = {k: v for k, v in counters()["detail"].items() if k != "timestamp"}
    one = element(bare)
    assert one["policy"]["order"] == "none"
    assert "cannot be ordered" in one["note"]


def test_snapshots_of_user_and_queue_are_about_the_conversation() -> None:
    to_user = element(snapshot(agent()))
    to_queue = element(snapshot(agent(), topic="v2.routing.queues.{id}.conversations.calls"))
    assert to_user["key"]["pk"] == to_queue["key"]["pk"]
    assert to_user["key"]["sk"] != to_queue["key"]["sk"]
    assert to_user["subject"] == {"type": "conversation", "id": CONVERSATION}
    assert to_user["ids"]["userId"] == USER
    assert to_queue["ids"]["queueId"] == QUEUE


def test_counters_are_ordered_by_when_they_were_published() -> None:
    one = element(counters())
    assert one["policy"] == {
        "windowMs": 0,
        "order": "changes",
        "latest": "latest/user.conversationsummary",
    }
    assert one["occurredAt"] == "2025-03-12T09:00:01.300Z"


def observations(**counts: int) -> Any:
    metrics = [{"metric": name, "stats": {"count": count}} for name, count in counts.items()]
    data = [{"interval": "2025-03-12T09:00:00Z/2025-03-12T09:30:00Z", "metrics": metrics}]
    body = {"group": {"queueId": QUEUE, "mediaType": "voice"}, "data": data}
    return event("v2.analytics.queues.{id}.observations", body, QUEUE)


def test_numbers_that_another_selection_of_metrics_changed_in_between_are_no_repeat() -> None:
    """A row for each selection cannot tell whether its numbers were overwritten by another's."""
    first, both = observations(oWaiting=1), observations(oWaiting=0, oInteracting=1)
    rows = [element(one)["policy"]["latest"] for one in (first, both)]
    assert rows[0] != rows[1], "a late message about other metrics is not stale"
    again = copy.deepcopy(first)
    again["detail"]["timestamp"] = "2025-03-12T09:00:03.300Z"
    kept, other = element(first), element(again)
    assert (kept["policy"]["order"], kept["policy"]["windowMs"]) == ("latest", 500)
    assert kept["key"] == other["key"]


def test_envelope_time_of_whole_seconds_around_a_500_ms_window() -> None:
    """Two copies at .999 and .001 are a second apart on a clock of whole seconds."""
    first, second = counters(), counters()
    for one, time in ((first, "2025-03-12T09:00:00Z"), (second, "2025-03-12T09:00:01Z")):
        del one["detail"]["timestamp"]
        one["time"] = time
    one, other = element(first), element(second)
    assert one["policy"] == other["policy"] == {"windowMs": 1500, "order": "none"}
    assert one["key"] == other["key"]


def test_no_time_at_all() -> None:
    timeless = counters()
    del timeless["detail"]["timestamp"], timeless["time"]
    one = element(timeless)
    assert one["occurredAtMs"] == SENT_MS
    assert one["policy"] == {"windowMs": 60_000, "order": "none"}
    lost = element(timeless, sent_ms=None)
    assert lost["detail"].startswith("NO_TIME: ")


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


def test_a_missing_business_time_is_no_null_in_the_key() -> None:
    timeless = conversation("user.start", eventTime=None)
    one = element(timeless)
    assert one["policy"] == {"windowMs": 500, "order": "none"}
    assert "eventTime" in one["note"]
    assert key(timeless) != key(changed(timeless, "userId", to="somebody"))


def test_a_time_in_the_far_future_is_not_believed() -> None:
    ahead = conversation("user.start", eventTime=NINE_MS + 86_400_000)
    one = element(ahead)
    assert one["occurredAt"] == "2025-03-12T09:00:01.300Z"
    assert "2025-03-13T09:00:00.000Z" in one["note"]
    # It is still the event's own, so a copy that arrives a day later has the same key.
    assert key(ahead) == key(ahead, sent_ms=SENT_MS + 2 * 86_400_000)


def test_five_minutes_ahead_is_still_believed() -> None:
    on_time = conversation("user.start", eventTime=SENT_MS + 300_000)
    late = conversation("user.start", eventTime=SENT_MS + 300_001)
    assert element(on_time)["occurredAtMs"] == SENT_MS + 300_000
    assert element(late)["occurredAtMs"] != SENT_MS + 300_001


def test_id_only_in_topic_name() -> None:
    one = element(presence())
    assert one["subject"] == {"type": "user", "id": USER}
    assert one["ids"]["userId"] == USER


def test_an_id_slot_that_is_a_word() -> None:
    one = element(audit())
    assert one["ids"]["entityType"] == "UserPresence"
    assert one["subject"] == {"type": "entity", "id": USER}
    bare = {k: v for k, v in audit()["detail"].items() if k != "timestamp"}
    assert element(bare)["key"]["sk"] == one["key"]["sk"]


def test_an_envelope_id_that_is_no_version_4_uuid() -> None:
    other = conversation("user.start") | {"id": "6efd5506-3fd6-09a1-5599-09ae48bd6dd8"}
    assert element(other)["trace"]["envelopeId"] == other["id"]
    assert key(other) == key(conversation("user.start"))


def test_correlation_id_with_a_suffix() -> None:
    other = audit()
    other["detail"]["metadata"]["CorrelationId"] += "-archival"
    assert element(other)["trace"]["correlationId"].endswith("-archival")
    assert key(other) == key(audit())


def test_two_integrations_of_one_organisation() -> None:
    other = conversation("user.start")
    other["source"] = f"aws.partner/genesys.com/cloud/{ORGANISATION}/backup"
    assert element(other)["organizationId"] == ORGANISATION
    assert key(other) == key(conversation("user.start"))


def test_two_organisations_never_meet() -> None:
    other = conversation("user.start")
    other["source"] = other["source"].replace(ORGANISATION, "another")
    assert key(other) != key(conversation("user.start"))


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", str(2**63), "9" * 400, "9" * 5000]
)
def test_numbers_that_are_none(number: str) -> None:
    text = json.dumps(conversation("user.end")).replace(str(NINE_MS), number)
    one = element(text)
    assert one["detail"].partition(":")[0] in ("NOT_JSON", "NUMBER_OUT_OF_RANGE")
    assert one["raw"] == text


@pytest.mark.parametrize("number", [str(2**63), str(-(2**63) - 1), "1e999"])
def test_a_number_too_large_for_others_is_found_however_deep(number: str) -> None:
    for place in (f'{{"a": [{{"b": {number}}}]}}', f"[[{number}]]"):
        text = json.dumps(conversation("user.start", more="HERE")).replace('"HERE"', place)
        for wrapped in (text, json.dumps({"body": text})):
            one = element(wrapped)
            assert one["detail"].startswith("NUMBER_OUT_OF_RANGE: ")


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63) + 1, 1e300, True])
def test_the_largest_numbers_that_others_read_pass_unchanged(number: object) -> None:
    assert body(element(conversation("user.start", more=[number])))["more"] == [number]


def test_the_word_infinity_is_no_number() -> None:
    assert "broken" not in element(conversation("user.start", name="Infinity"))


def test_duplicate_json_keys_count_last() -> None:
    text = json.dumps(conversation("user.start"))
    twice = text.replace('"eventTime"', f'"eventTime": {NINE_MS - 5}, "eventTime"')
    assert key(twice) == key(text)


def test_deep_nesting() -> None:
    def nested(depth: int) -> str:
        text = json.dumps(conversation("user.start", more="HERE"))
        return text.replace('"HERE"', "[" * depth + "]" * depth)

    assert "broken" not in element(nested(150))
    assert element(nested(100_000))["detail"].startswith("TOO_DEEP: ")


@pytest.mark.parametrize("escape", ["\\ud800", "\\uDFFF"])
def test_lone_surrogates(escape: str) -> None:
    assert element(f'{{"a": "{escape}"}}')["detail"].startswith("NOT_JSON: ")


def test_the_same_topic_in_upper_case_is_another_family() -> None:
    upper = event("v2.users.{id}.PRESENCE", presence()["detail"]["eventBody"], USER)
    assert element(upper)["family"] == "user.PRESENCE"


def test_without_the_user_in_the_body_the_topic_tells_the_subject() -> None:
    template = "v2.users.{id}.workforcemanagement.adherence"
    nameless = element(event(template, {"adherenceState": "InAdherence"}, USER))
    assert nameless["subject"] == {"type": "user", "id": USER}
    assert "user.id" in nameless["note"]
    assert nameless["state"] == "InAdherence"
