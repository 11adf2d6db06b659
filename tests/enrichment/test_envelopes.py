"""The same event in every wrapping of the field, and what is no event at all."""

import json
from typing import Any

import pytest

from schemas import examples
from tests.enrichment.examples import (
    CONVERSATION,
    ORGANISATION,
    USER,
    conversation,
    presence,
)
from tests.enrichment.sending import SENT_MS, body, element, key

EVENT = conversation("user.start", userId=USER)


def without(*names: str) -> dict[str, Any]:
    return {name: value for name, value in EVENT.items() if name not in names}


@pytest.mark.parametrize(
    "wrapped",
    [
        without("id"),
        without("time"),
        without("id", "time", "resources", "account", "region", "version"),
        {**EVENT, "replay-name": "tuesday"},
        json.dumps(json.dumps(EVENT)),
        {"body": EVENT},
        {"body": json.dumps(EVENT)},
        {"detail": EVENT},
        {"detail": json.dumps(EVENT)},
        {"Type": "Notification", "Message": json.dumps(EVENT)},
        {"messageId": "inner", "body": json.dumps(EVENT)},
    ],
    ids=lambda wrapped: str(wrapped)[:40],
)
def test_one_event_in_many_wrappings(wrapped: Any) -> None:
    assert key(wrapped) == key(EVENT)
    assert body(element(wrapped)) == EVENT["detail"]["eventBody"]


@pytest.mark.parametrize("words", ['"Hi" she said', "{name}, your callback", '"{"'])
def test_words_that_begin_like_json_are_no_event(words: str) -> None:
    text_message = {"type": "sms", "conversationId": "c-1", "status": "sent", "body": words}
    assert element(text_message)["state"] == "sent"


@pytest.mark.parametrize(
    "bare",
    [
        EVENT["detail"],
        {k: v for k, v in EVENT["detail"].items() if k in ("topicName", "eventBody")},
        {"detail": {k: v for k, v in EVENT["detail"].items() if k != "metadata"}},
        {"topicName": EVENT["detail"]["topicName"], **EVENT["detail"]["eventBody"]},
    ],
    ids=lambda bare: str(list(bare)),
)
def test_without_a_source_the_organisation_is_unknown(bare: Any) -> None:
    one = element(bare)
    assert "organizationId" not in one
    assert one["key"]["pk"] == f"-/conversation/{CONVERSATION}"
    assert one["key"]["sk"] == element(EVENT)["key"]["sk"]


@pytest.mark.parametrize("more", [{"topicName": "v2.users.{id}.presence"}, {}], ids=str)
def test_fields_that_lie_in_the_detail_itself(more: dict[str, str]) -> None:
    detail = {"userId": USER, **more, **presence()["detail"]["eventBody"]}
    one = element({"detail-type": "v2.users.{id}.presence", "detail": detail})
    assert one["family"] == "user.presence"
    assert one["key"]["sk"] == element(presence())["key"]["sk"]
    assert one["subject"]["id"] == USER


@pytest.mark.parametrize(
    "name", ["state", "status", "action", "operation", "eventType", "currentOperation"]
)
def test_the_state_of_an_event_that_nobody_declared_is_said(name: str) -> None:
    detail = {"topicName": f"v2.some.{USER}.things", "eventBody": {name: "opened"}}
    assert element({"detail-type": "v2.some.{id}.things", "detail": detail})["state"] == "opened"


def test_ids_of_the_envelope_are_kept_as_trace() -> None:
    one = element({**EVENT, "replay-name": "tuesday"})
    assert one["trace"] == {
        "envelopeId": EVENT["id"],
        "correlationId": EVENT["detail"]["metadata"]["CorrelationId"],
        "replayName": "tuesday",
        "source": EVENT["source"],
    }


@pytest.mark.parametrize("example", examples.read(), ids=lambda example: example["name"])
def test_example_has_its_pinned_key_and_state_also_if_an_archive_replays_it_days_later(
    example: Any,
) -> None:
    """It comes with a replay-name then, and EventBridge does not say whether its id stays."""
    made = element(example["event"])
    for name in ("key", "policy", "state"):
        assert made.get(name) == example.get(name)
    event = {"time": "2026-05-04T10:00:01Z", "id": "first", **example["event"]}
    replay = {**event, "id": "another", "replay-name": "tuesday"}
    first, again = element(event), element(replay, sent_ms=SENT_MS + 864_000_000)
    if "broken" not in made:
        for name in ("key", "keyHash", "occurredAtMs", "policy"):
            assert first[name] == again[name]
        assert again["trace"]["replayName"] == "tuesday"


def test_correlation_id_in_lower_case() -> None:
    lower = {**EVENT, "detail": {**EVENT["detail"], "metadata": {"correlationId": "c"}}}
    assert element(lower)["trace"]["correlationId"] == "c"


@pytest.mark.parametrize(
    "source",
    [
        f"aws.partner/genesys.com/cloud/{ORGANISATION}/x",
        f"aws.partner/genesys.com.test/cloud/{ORGANISATION}/x",
        f"simulate.aws.partner/genesys.com/cloud/{ORGANISATION}",
    ],
)
def test_organisation_of_a_source(source: str) -> None:
    assert element({**EVENT, "source": source})["organizationId"] == ORGANISATION


def test_organisation_of_a_custom_event_is_that_of_its_partner_source() -> None:
    flat = {"conversationId": "c", "status": "on", "source": EVENT["source"]}
    assert element(flat)["organizationId"] == ORGANISATION
    app = {"source": "my.app", "detail": {"conversationId": "c", "status": "on"}}
    assert element(app)["trace"]["source"] == "my.app"


@pytest.mark.parametrize("source", ["my.app", "cloud", "a/cloud", "a/cloud/", "", 7, None])
def test_a_source_without_an_organisation(source: Any) -> None:
    assert "organizationId" not in element({**EVENT, "source": source})


def test_the_body_may_name_the_organisation() -> None:
    own = conversation("user.start", organizationId=ORGANISATION)
    assert element({**own, "source": "my.app"})["organizationId"] == ORGANISATION


def test_a_topic_of_a_name_we_cannot_use_as_a_family() -> None:
    odd = {**EVENT, "detail-type": "v2.ünder.{id}.ÿ/~" + "x" * 200}
    one = element(odd)
    assert len(one["family"]) <= 100
    assert one["family"].isascii()


def test_state_in_the_name_of_a_family_is_in_no_record() -> None:
    one = element(EVENT)
    assert (one["state"], "plainState" in one) == ("user.start", False)
    assert one["publishedAt"] == "2025-03-12T09:00:01.300Z"
    assert element(presence())["plainState"] == "AVAILABLE"


def test_longest_topic_is_read() -> None:
    assert "broken" not in element({"topicName": "v2.x" + "y" * 508, "eventBody": {"userId": "u"}})


BROKEN = [
    ("", "BODY_MISSING"),
    ("not json", "NOT_JSON"),
    ('{"detail": ', "NOT_JSON"),
    ("\ufeff{}", "NOT_JSON"),
    ("42", "NOT_AN_OBJECT"),
    ("null", "NOT_AN_OBJECT"),
    ("[]", "NOT_AN_OBJECT"),
    ("[1, 2]", "NOT_AN_OBJECT"),
    ('{"topicName": "channel.metadata", "eventBody": {"message": "pong"}}', "NOT_AN_EVENT"),
    ("{}", "UNKNOWN_SHAPE"),
    ('{"hello": "world"}', "UNKNOWN_SHAPE"),
    ('{"topicName": "v2.x' + "y" * 509 + '", "eventBody": {"userId": "u"}}', "UNKNOWN_SHAPE"),
    (json.dumps({"detail": json.dumps({"detail": json.dumps({"body": "{}"})})}), "UNKNOWN_SHAPE"),
    (json.dumps(json.dumps(json.dumps(EVENT))), "NOT_AN_OBJECT"),
    ('{"detail-type": "Order Shipped", "detail": {"order": 7}}', "NO_SUBJECT"),
    ('{"topicName": "v2.workforcemanagement.agents", "eventBody": {}}', "NO_SUBJECT"),
]


@pytest.mark.parametrize(("text", "code"), BROKEN, ids=[text[:30] for text, _ in BROKEN])
def test_message_without_an_event_is_broken_and_says_why(text: str, code: str) -> None:
    one = element(text, message_id="id")
    assert one["broken"] == "UNREADABLE"
    assert one["detail"].partition(": ")[0] == code
    assert one["raw"] == text
    assert one["detail"].endswith("."), "a sentence that a person can act on"
    assert one["detail"].isascii()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"eventBody": "text"}, "its eventBody is a value of type str"),
        ({"eventBody": [1]}, "its eventBody is a value of type list"),
        ({"topicName": None}, "The event has an eventBody, but no topicName"),
    ],
)
def test_event_that_cannot_be_opened_is_told_by_what_it_lacks(
    change: dict[str, Any], said: str
) -> None:
    one = element({**EVENT, "detail": {**EVENT["detail"], **change}})
    assert one["detail"].startswith("UNKNOWN_SHAPE: ")
    assert said in one["detail"]


def test_event_body_of_null_is_an_empty_body() -> None:
    one = element({**EVENT, "detail": {**EVENT["detail"], "eventBody": None}})
    assert one["bodyPath"] == ["detail", "eventBody"]
    assert "participantId, sessionId, eventTime" in one["note"]
