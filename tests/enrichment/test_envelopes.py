"""The same event in every wrapping of the field, and what is no event at all."""

import gc
import json
import re
import sys
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import Any

import pytest
from once_enrichment.contract import CANARY, FIRST_SENT
from once_enrichment.keys import idempotency_key
from once_enrichment.normalise import normalise

from proof.definition.asl import ROOT
from tests.enrichment.examples import (
    CONVERSATION,
    NINE_MS,
    ORGANISATION,
    USER,
    conversation,
    presence,
    snapshot,
)
from tests.enrichment.sending import SENT_MS, changed, element, elements, key, record

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
        {"version": "1.0", "requestPayload": EVENT},
        {"messageId": "inner", "body": json.dumps(EVENT)},
    ],
    ids=lambda wrapped: str(wrapped)[:40],
)
def test_one_event_in_many_wrappings(wrapped: Any) -> None:
    assert key(wrapped) == key(EVENT)
    assert element(wrapped)["body"] == EVENT["detail"]["eventBody"]


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


def test_number_where_an_id_belongs_makes_the_whole_body_the_identity() -> None:
    one = element(changed(EVENT, "participantId", to=5))
    assert one["note"] == "not as declared participantId: the whole body is the identity"
    assert one["policy"] == {"windowMs": 1500, "order": "none"}


def test_a_time_that_no_clock_can_say_is_no_identity() -> None:
    one = element(changed(EVENT, "eventTime", to=253_402_300_800_000))
    assert "eventTime" in one["note"]


def test_a_record_whose_body_is_no_text() -> None:
    odd = {"messageId": "m", "body": EVENT, "attributes": {"SentTimestamp": "1741777200000"}}
    (one,) = elements(odd)
    assert one["key"] == element(EVENT)["key"]


def test_what_the_envelope_tells_is_kept_as_trace() -> None:
    one = element({**EVENT, "replay-name": "tuesday"})
    assert one["trace"] == {
        "envelopeId": EVENT["id"],
        "correlationId": EVENT["detail"]["metadata"]["CorrelationId"],
        "replayName": "tuesday",
        "source": EVENT["source"],
    }


ANY_FAMILY = sorted((ROOT / "schemas" / "examples").glob("*.event.json"))


@pytest.mark.parametrize("path", ANY_FAMILY, ids=lambda path: path.name.split(".event")[0])
def test_an_event_of_an_archive_replayed_ten_days_later_is_a_copy_of_itself(path: Path) -> None:
    """It comes with a replay-name, and EventBridge does not say whether its id stays."""
    event = {"time": "2026-05-04T10:00:01Z", "id": "first", **json.loads(path.read_text("utf-8"))}
    sent_ms = 1777888802000
    first = element(event, sent_ms=sent_ms)
    again = element(
        {**event, "id": "another", "replay-name": "tuesday"}, sent_ms=sent_ms + 864_000_000
    )
    for name in ("key", "idempotencyKey", "occurredAtMs", "policy", "kind"):
        assert first.get(name) == again.get(name)
    if first["kind"] == "event":
        assert again["trace"]["replayName"] == "tuesday"


def test_correlation_id_in_lower_case() -> None:
    lower = {**EVENT, "detail": {**EVENT["detail"], "metadata": {"correlationId": "c"}}}
    assert element(lower)["trace"]["correlationId"] == "c"


@pytest.mark.parametrize(
    "source",
    [
        f"aws.partner/genesys.com/cloud/{ORGANISATION}/x",
        f"aws.partner/genesys.com.test/cloud/{ORGANISATION}/x",
        f"simulate.aws.partner/genesys.com/cloud/{ORGANISATION}/x",
    ],
)
def test_organisation_of_a_source(source: str) -> None:
    assert element({**EVENT, "source": source})["organizationId"] == ORGANISATION


@pytest.mark.parametrize("source", ["my.app", "cloud", "a/cloud", "a/cloud/", "", 7, None])
def test_a_source_without_an_organisation(source: Any) -> None:
    assert "organizationId" not in element({**EVENT, "source": source})


def test_the_body_may_name_the_organisation() -> None:
    own = conversation("user.start", organizationId=ORGANISATION)
    assert element({**own, "source": "my.app"})["organizationId"] == ORGANISATION


def test_an_unknown_topic_works_without_code() -> None:
    new = conversation("callback.start", callbackNumbers=["tel:+1"])
    one = element(new)
    assert one["family"] == "conversation.callback.start"
    assert one["subject"] == {"type": "conversation", "id": CONVERSATION}
    assert one["policy"] == {"windowMs": 0, "order": "none"}


def test_a_topic_of_a_name_we_cannot_use_as_a_family() -> None:
    odd = {**EVENT, "detail-type": "v2.ünder.{id}.ÿ/~" + "x" * 200}
    one = element(odd)
    assert len(one["family"]) <= 100
    assert one["family"].isascii()


PARKED = [
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
    ('{"topicName": "' + "v2.x." * 200 + '", "eventBody": {}}', "UNKNOWN_SHAPE"),
    (json.dumps(json.dumps(json.dumps(json.dumps(json.dumps(EVENT))))), "UNKNOWN_SHAPE"),
    ('{"detail-type": "Order Shipped", "detail": {"order": 7}}', "NO_SUBJECT"),
    ('{"topicName": "v2.workforcemanagement.agents", "eventBody": {}}', "NO_SUBJECT"),
    ('{"kind": "event", "key": {"pk": "a"}}', "INVALID_REPLAY"),
]


@pytest.mark.parametrize(("text", "reason"), PARKED, ids=[text[:30] for text, _ in PARKED])
def test_what_is_parked_and_why(text: str, reason: str) -> None:
    one = element(text, message_id="id")
    assert (one["kind"], one["reason"]) == ("parked", reason)
    assert one["raw"] == text
    assert one["subjectKey"] == one["messageId"] == "id"
    assert one["detail"].endswith("."), "a sentence that a person can act on"


@pytest.mark.parametrize("text", [json.dumps(EVENT), "nothing", json.dumps(element(EVENT))])
def test_every_element_says_how_its_message_can_be_handed_back(text: str) -> None:
    sent = record(text, "m")
    sent["attributes"]["ApproximateReceiveCount"] = "4"
    (one,) = elements(sent)
    assert (one["messageId"], one["receiptHandle"]) == ("m", "handle-of-m")
    assert (one["receives"], one["sentAtMs"]) == (4, SENT_MS)


def test_what_was_parked_without_its_receipt_handle_is_replayed() -> None:
    parked = element(EVENT)
    del parked["receiptHandle"]
    assert element(parked) == element(EVENT)


@pytest.mark.parametrize("odd", [None, 7, "text", [], {}, {"messageId": None}, {"body": 5}])
def test_a_record_that_is_none_is_parked_too(odd: Any) -> None:
    (one,) = elements(odd)
    assert one["kind"] == "parked"
    assert one["messageId"] == ""


def test_an_element_that_is_replayed_keeps_its_key() -> None:
    first = element(snapshot(), message_id="first")
    again = element(first, message_id="again")
    assert again == {**first, "messageId": "again", "receiptHandle": "handle-of-again"}


@pytest.mark.parametrize(
    "change",
    [
        {"key": {"pk": "other", "sk": "v1/x"}},
        {"occurredAtMs": "now"},
        {"extra": 1},
        {"version": "2"},
        {"idempotencyKey": "0" * 64},
    ],
)
def test_an_element_that_was_edited_is_not_replayed(change: dict[str, Any]) -> None:
    one = element({**element(EVENT), **change})
    assert (one["kind"], one["reason"]) == ("parked", "INVALID_REPLAY")


@pytest.mark.parametrize(
    "change",
    [
        {"occurredAtMs": str(NINE_MS)},
        {"occurredAtMs": float(NINE_MS)},
        {"note": None},
        {"trace": {"source": EVENT["source"], "eventId": None, "correlation_id": "c"}},
        {"policy": {"windowMs": False, "order": "none"}},
    ],
)
def test_what_somebody_wrote_in_another_way_is_replayed_as_it_should_be(
    change: dict[str, Any],
) -> None:
    usual = element(EVENT)
    again, copy = elements(*(record({**usual, **change}, name) for name in ("1", "2")))
    assert (again["key"], again["body"]) == (usual["key"], usual["body"])
    assert (again["occurredAtMs"], again["policy"]) == (NINE_MS, usual["policy"])
    assert not {"null", "false", "correlation_id"} & {*re.findall(r"\w+", json.dumps(again))}
    assert copy["copyOf"] == "1"


@pytest.mark.parametrize(
    ("pk", "sk"),
    [
        ("pace", "breaker"),
        ("pace", "v1/user.presence/x"),
        ("org/user/7", "latest/user.presence"),
        ("org/user", "v1/user.presence/x"),
        ("org/user/7/8", "v1/user.presence/x"),
        ("org//7", "v1/user.presence/x"),
    ],
)
def test_an_element_that_is_sent_back_cannot_name_a_row_that_no_event_makes(
    pk: str, sk: str
) -> None:
    one = element(EVENT)
    own = {"key": {"pk": pk, "sk": sk}, "idempotencyKey": idempotency_key(pk, sk)}
    again = element({**one, **own})
    assert (again["kind"], again["reason"]) == ("parked", "INVALID_REPLAY")
    assert "key." in again["detail"]


@pytest.mark.parametrize("number", ["1e999", "-1e999", str(2**70), f"[[{2**70}]]"])
def test_an_element_that_is_sent_back_with_a_number_too_large_is_parked(number: str) -> None:
    """JSON would have `Infinity`, for which the whole batch would fail at each delivery."""
    text = json.dumps(element(EVENT) | {"body": {"n": "NUMBER"}}).replace('"NUMBER"', number)
    one = element(text)
    assert (one["kind"], one["reason"]) == ("parked", "NUMBER_OUT_OF_RANGE")


def test_an_element_that_is_sent_back_has_the_key_of_its_subject() -> None:
    one = element(EVENT)
    assert element({**one, "subjectKey": "another"}) == one


FIRST_MS = SENT_MS - 86_400_000


def sent_again(text: Any, first: Any) -> dict[str, Any]:
    again = record(text, "again")
    attribute = {"stringValue": first, "dataType": "Number"}
    return again | {"messageAttributes": {FIRST_SENT: attribute}}


def test_a_replay_of_what_only_the_queue_dates_is_the_same_occurrence() -> None:
    """Its own SentTimestamp would be a day later, and open another occurrence of the state."""
    undated = {"detail-type": "t", "detail": {"conversationId": "c1", "status": "connected"}}
    first = element(undated, sent_ms=FIRST_MS)
    (again,) = elements(sent_again(undated, str(FIRST_MS)))
    delivery = {"messageId": "again", "receiptHandle": "handle-of-again", "sentAtMs": SENT_MS}
    assert again == {**first, **delivery}


def test_what_is_parked_carries_the_time_for_its_replay() -> None:
    assert element("nothing")["firstSentAtMs"] == SENT_MS
    (again,) = elements(sent_again("nothing", str(FIRST_MS)))
    assert again["firstSentAtMs"] == FIRST_MS


@pytest.mark.parametrize("first", ["soon", "", None, [], str(SENT_MS + 1), "0"])
def test_a_first_time_that_is_none_is_not_believed(first: Any) -> None:
    (again,) = elements(sent_again("nothing", first))
    assert again["firstSentAtMs"] == SENT_MS


def test_good_and_bad_in_one_batch() -> None:
    answer = elements(record("nothing", "1"), record(EVENT, "2"), record("", "3"))
    assert [(one["messageId"], one["kind"]) for one in answer] == [
        ("1", "parked"),
        ("2", "event"),
        ("3", "parked"),
    ]


def test_a_redelivered_message_becomes_the_same_element() -> None:
    first = record(EVENT)
    second = record(EVENT)
    second["attributes"] |= {
        "ApproximateReceiveCount": "17",
        "ApproximateFirstReceiveTimestamp": "9",
    }
    second["receiptHandle"] = "another"
    (one,), (other,) = elements(first), elements(second)
    assert (other["receiptHandle"], other["receives"]) == ("another", 17)
    assert other == {**one, "receiptHandle": "another", "receives": 17}


@pytest.mark.parametrize("text", [json.dumps(EVENT), "no JSON"])
def test_a_message_looked_at_alone_is_the_element_of_its_batch(text: str) -> None:
    """`once dead-letters` shows what the enrichment would have made of it."""
    (one,) = elements(record(text))
    assert normalise(record(text)) == one


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
    assert (one["kind"], one["reason"]) == ("parked", "UNKNOWN_SHAPE")
    assert said in one["detail"]


def test_event_body_of_null_is_an_empty_body() -> None:
    one = element({**EVENT, "detail": {**EVENT["detail"], "eventBody": None}})
    assert one["body"] == {}
    assert one["note"].startswith("missing eventTime, participantId, sessionId: ")


def test_canary_is_known_by_the_attribute_of_its_message_alone() -> None:
    sent = record(EVENT)
    sent["messageAttributes"] = {CANARY: {"stringValue": "run", "dataType": "String"}}
    (one,) = elements(sent)
    assert one["canary"] is True
    assert "canary" not in element(one), "an element that is sent back cannot claim it"
    assert "canary" not in element(changed(EVENT, "canary", to=True))


def test_caches_hold_no_long_text() -> None:
    for number in range(50):
        long = f"{number}{'x' * 20_000}"
        element(
            {"detail-type": long, "detail": {"conversationId": "c", long: long, "source": long}}
        )
        element({**EVENT, "source": long, "detail-type": f"v2.{long}"})
    ours = [
        vars(module) for name, module in sys.modules.items() if name.startswith("once_enrichment.")
    ]
    caches = [
        one for names in ours for one in names.values() if isinstance(one, _lru_cache_wrapper)
    ]
    assert caches
    held = [inner for cache in caches for inner in gc.get_referents(cache)]
    keys = [str(key) for inner in held if isinstance(inner, dict) for key in inner]
    assert keys
    assert max(map(len, keys)) < 2_000
