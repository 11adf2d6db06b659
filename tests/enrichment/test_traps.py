"""The known traps of Genesys' events, one test each."""

import json

import pytest

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
from tests.enrichment.sending import SENT_MS, changed, element, elements, key, record


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


def test_snapshot_resent_unchanged_then_held() -> None:
    before = snapshot(agent())
    resent = snapshot(agent() | {"attributes": {"language": "fr"}, "name": "somebody"})
    held = snapshot(agent(held=True, startHoldTime="2025-03-12T09:00:00.500Z"))
    assert key(before) == key(resent)
    assert key(held) != key(before)


def test_snapshot_muted_and_unmuted() -> None:
    assert key(snapshot(agent(muted=True))) != key(snapshot(agent(muted=False)))


@pytest.mark.parametrize(
    "call",
    [
        {"state": "disconnected"},
        {"held": True},
        {"disconnectedTime": "2025-03-12T09:00:00Z"},
        {"wrapup": {"code": "sold"}},
        {"afterCallWork": {"state": "pending"}},
        {"recordingState": "paused"},
        {"id": "call-2"},
    ],
)
def test_snapshot_in_another_state(call: dict[str, object]) -> None:
    assert key(snapshot(agent(**call))) != key(snapshot(agent()))


def test_snapshot_of_the_same_participants_in_another_order() -> None:
    one, two = agent(), agent() | {"id": "participant-2"}
    assert key(snapshot(one, two)) == key(snapshot(two, one))


def test_snapshot_without_any_time_is_windowed() -> None:
    timeless = agent()
    del timeless["connectedTime"], timeless["calls"][0]["connectedTime"]
    assert element(snapshot(timeless))["policy"]["windowMs"] == 500
    assert element(snapshot(agent()))["policy"]["windowMs"] == 0


def test_snapshots_of_user_and_queue_are_about_the_conversation() -> None:
    to_user = element(snapshot(agent()))
    to_queue = element(snapshot(agent(), topic="v2.routing.queues.{id}.conversations.calls"))
    assert to_user["key"]["pk"] == to_queue["key"]["pk"]
    assert to_user["key"]["sk"] != to_queue["key"]["sk"]
    assert to_user["subject"] == {"type": "conversation", "id": CONVERSATION}
    assert to_user["ids"]["userId"] == USER
    assert to_queue["ids"]["queueId"] == QUEUE


def test_counters_without_a_time_are_windowed() -> None:
    one = element(counters())
    assert one["policy"] == {
        "windowMs": 500,
        "order": "latest",
        "latest": "latest/user.conversationsummary",
    }
    assert one["occurredAt"] == "2025-03-12T09:00:01.300Z"


def test_envelope_time_of_whole_seconds_around_a_500_ms_window() -> None:
    """Two copies at .999 and .001 are a second apart on a clock of whole seconds."""
    first, second = counters(), counters()
    for one, time in ((first, "2025-03-12T09:00:00Z"), (second, "2025-03-12T09:00:01Z")):
        del one["detail"]["timestamp"]
        one["time"] = time
    kept, copy = elements(record(first, "a"), record(second, "b"))
    assert kept["policy"] == {"windowMs": 1500, "order": "none"}
    assert (copy["kind"], copy["copyOf"], copy["subjectKey"]) == ("copy", "a", kept["subjectKey"])


def test_no_time_at_all() -> None:
    timeless = counters()
    del timeless["detail"]["timestamp"], timeless["time"]
    one = element(timeless)
    assert one["occurredAtMs"] == SENT_MS
    assert one["policy"] == {"windowMs": 60_000, "order": "none"}
    lost = element(timeless, sent_ms=None)
    assert (lost["kind"], lost["reason"]) == ("parked", "NO_TIME")


def test_a_missing_business_time_is_no_null_in_the_key() -> None:
    timeless = conversation("user.start", eventTime=None)
    one = element(timeless)
    assert one["policy"] == {"windowMs": 500, "order": "none"}
    assert "missing eventTime" in one["note"]
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
    kept, copy = elements(record(conversation("user.start"), "a"), record(other, "b"))
    assert kept["organizationId"] == ORGANISATION
    assert copy["copyOf"] == "a"


def test_two_organisations_never_meet() -> None:
    other = conversation("user.start")
    other["source"] = other["source"].replace(ORGANISATION, "another")
    assert key(other) != key(conversation("user.start"))


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", str(2**63), "9" * 400, "9" * 5000]
)
def test_numbers_that_are_none(number: str) -> None:
    good = conversation("user.start")
    text = json.dumps(conversation("user.end")).replace(str(NINE_MS), number)
    kept, parked = elements(record(good, "good"), record(text, "bad"))
    assert kept["kind"] == "event"
    assert parked["kind"] == "parked"
    assert parked["reason"] in ("NOT_JSON", "NUMBER_OUT_OF_RANGE")
    assert parked["raw"] == text


@pytest.mark.parametrize("number", [str(2**63), str(-(2**63) - 1), "1e999"])
def test_a_number_too_large_for_others_is_found_however_deep(number: str) -> None:
    """Some engines of JSONata refuse a whole batch for a whole number of more than 64 bits."""
    for place in (f'{{"a": [{{"b": {number}}}]}}', f"[[{number}]]"):
        text = json.dumps(conversation("user.start", more="HERE")).replace('"HERE"', place)
        for wrapped in (text, json.dumps({"body": text})):
            one = element(wrapped)
            assert (one["kind"], one["reason"]) == ("parked", "NUMBER_OUT_OF_RANGE")


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63) + 1, 1e300, True])
def test_the_largest_numbers_that_others_read_pass_unchanged(number: object) -> None:
    assert element(conversation("user.start", more=[number]))["body"]["more"] == [number]


def test_the_word_infinity_is_no_number() -> None:
    assert element(conversation("user.start", name="Infinity"))["kind"] == "event"


def test_duplicate_json_keys_count_last() -> None:
    text = json.dumps(conversation("user.start"))
    twice = text.replace('"eventTime"', f'"eventTime": {NINE_MS - 5}, "eventTime"')
    assert key(twice) == key(text)


def test_deep_nesting() -> None:
    def nested(depth: int) -> str:
        text = json.dumps(conversation("user.start", more="HERE"))
        return text.replace('"HERE"', "[" * depth + "]" * depth)

    assert element(nested(150))["kind"] == "event"
    for depth in (300, 100_000):
        one = element(nested(depth))
        assert (one["kind"], one["reason"]) == ("parked", "TOO_DEEP")


@pytest.mark.parametrize("text", ['{"a": "\\ud800"}', '{"a": "\ud800"}', "\ud800"])
def test_lone_surrogates(text: str) -> None:
    one = element(text)
    assert (one["kind"], one["reason"]) == ("parked", "NOT_JSON")
    one["raw"].encode()


@pytest.mark.parametrize("character", ["\ufffe", "\uffff"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_what_sqs_takes_in_no_message_could_not_be_parked_and_is_replaced(
    character: str, ascii_only: bool
) -> None:
    """AWSSimpleQueueService/latest/APIReference/API_SendMessage.html: #xE000 to #xFFFD."""
    said = conversation("user.start", **{f"note{character}": [{"a": f"ä{character}b"}]})
    said["id"] = said["source"] = f"{said['source']}{character}"
    for text in (json.dumps(said, ensure_ascii=ascii_only), f'{{"not JSON{character}'):
        written = json.dumps(element(text), ensure_ascii=False)
        assert character not in written
    one = element(json.dumps(said, ensure_ascii=ascii_only))
    assert one["body"]["note\ufffd"] == [{"a": "ä\ufffdb"}]


def test_what_is_replaced_still_tells_two_events_apart() -> None:
    of_each = {
        key(conversation("user.start", participantId=f"p{character}"))
        for character in ("", "\ufffd", "\ufffe", "\uffff")
    }
    assert len(of_each) == 4
    pk, sk = key(event("v2.users.{id}.presence", presence()["detail"]["eventBody"], "u\ufffe"))
    assert (pk + sk).isascii()


def test_the_same_topic_in_upper_case_is_another_family() -> None:
    upper = event("v2.users.{id}.PRESENCE", presence()["detail"]["eventBody"], USER)
    assert element(upper)["family"] == "user.PRESENCE"


def test_a_user_whom_only_the_topic_names_is_the_subject_as_if_the_body_did() -> None:
    template = "v2.users.{id}.workforcemanagement.adherence"
    body = {"adherenceState": "InAdherence", "adherenceChangeTime": "2025-03-12T09:00:00.123Z"}
    named, nameless = (
        element(event(template, one, USER)) for one in (body | {"user": {"id": USER}}, body)
    )
    assert nameless["subject"] == {"type": "user", "id": USER}
    assert nameless["policy"] == named["policy"]
    assert nameless["key"]["pk"] == named["key"]["pk"]
    state = "adherenceState=InAdherence/routingStatus=/systemPresence="
    assert state in nameless["key"]["sk"]
    assert state in named["key"]["sk"]
