"""The same event in every wrapping and every spelling of its time, and what is no event at all."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from once_enrichment.envelope import Moment, choose, iso, maybe_ms

from schemas import examples
from tests.enrichment.examples import (
    CONVERSATION,
    NINE_MS,
    ORGANISATION,
    USER,
    Event,
    conversation,
    presence,
)
from tests.enrichment.sending import SENT_MS, body, element, key

EVENT = conversation("user.start", userId=USER)
DETAIL = EVENT["detail"]


def without(event: Event, *names: str) -> Event:
    return {name: value for name, value in event.items() if name not in names}


@pytest.mark.parametrize(
    "wrapped",
    [
        without(EVENT, "id"),
        without(EVENT, "time"),
        without(EVENT, "id", "time", "resources", "account", "region", "version"),
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
    assert body(element(wrapped)) == DETAIL["eventBody"]


@pytest.mark.parametrize("words", ['"Hi" she said', "{name}, your callback", '"{"'])
def test_words_that_begin_like_json_are_no_event(words: str) -> None:
    text_message = {"type": "sms", "conversationId": "c-1", "status": "sent", "body": words}
    assert element(text_message)["state"] == "sent"


@pytest.mark.parametrize(
    "bare",
    [
        DETAIL,
        without(DETAIL, "version", "metadata", "timestamp"),
        {"detail": without(DETAIL, "metadata")},
        {"topicName": DETAIL["topicName"], **DETAIL["eventBody"]},
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


@pytest.mark.parametrize("name", ["CorrelationId", "correlationId"])
def test_ids_of_the_envelope_are_kept_as_trace(name: str) -> None:
    detail = {**DETAIL, "metadata": {name: "c"}}
    assert element({**EVENT, "detail": detail, "replay-name": "tuesday"})["trace"] == {
        "envelopeId": EVENT["id"],
        "correlationId": "c",
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


OWN = {"conversationId": "c", "status": "on"}


@pytest.mark.parametrize(
    "event",
    [
        {**EVENT, "source": f"aws.partner/genesys.com.test/cloud/{ORGANISATION}/x"},
        {**EVENT, "source": f"simulate.aws.partner/genesys.com/cloud/{ORGANISATION}"},
        {**conversation("user.start", organizationId=ORGANISATION), "source": "my.app"},
        {**OWN, "source": EVENT["source"]},
    ],
    ids=lambda event: str(event["source"]),
)
def test_organisation_of_an_event(event: Any) -> None:
    assert element(event)["organizationId"] == ORGANISATION


@pytest.mark.parametrize("source", ["my.app", "cloud", "a/cloud", "a/cloud/", "", 7, None])
def test_a_source_without_an_organisation(source: Any) -> None:
    assert "organizationId" not in element({**EVENT, "source": source})


def test_source_of_a_home_made_event_is_kept_as_trace() -> None:
    assert element({"source": "my.app", "detail": OWN})["trace"]["source"] == "my.app"


def test_topic_of_a_name_we_cannot_use_as_a_family() -> None:
    one = element({**EVENT, "detail-type": "v2.ünder.{id}.ÿ/~" + "x" * 200})
    assert len(one["family"]) <= 100
    assert one["family"].isascii()


def test_state_in_the_name_of_a_family_is_in_no_record() -> None:
    one = element(EVENT)
    assert (one["state"], "plainState" in one) == ("user.start", False)
    assert one["publishedAt"] == "2025-03-12T09:00:01.300Z"
    assert element(presence())["plainState"] == "AVAILABLE"


def test_longest_topic_is_read() -> None:
    assert "broken" not in element({"topicName": "v2.x" + "y" * 508, "eventBody": {"userId": "u"}})


def holding(text: str) -> str:
    """The text of an event with this text in the place of a value."""
    return json.dumps(conversation("user.start", more="HERE")).replace('"HERE"', text)


BROKEN = [
    ("", "BODY_MISSING"),
    ("not json", "NOT_JSON"),
    ('{"detail": ', "NOT_JSON"),
    ("\ufeff{}", "NOT_JSON"),
    *((holding(number), "NOT_JSON") for number in ("NaN", "Infinity", "-Infinity", "9" * 5000)),
    *((holding(f'"{half}"'), "NOT_JSON") for half in ("\\ud800", "\\uDFFF")),
    *(
        (text, "NUMBER_OUT_OF_RANGE")
        for number in (str(2**63), str(-(2**63) - 1), "1e999", "-1e999", "9" * 400)
        for text in (
            holding(f'{{"a": [{{"b": {number}}}]}}'),
            json.dumps({"body": holding(number)}),
        )
    ),
    (holding("[" * 100_000 + "]" * 100_000), "TOO_DEEP"),
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


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63) + 1, 1e300, True, "Infinity"])
def test_largest_numbers_that_others_read_pass_unchanged(number: object) -> None:
    assert body(element(conversation("user.start", more=[number])))["more"] == [number]


def test_text_nested_in_many_lists_is_read() -> None:
    assert "broken" not in element(holding("[" * 150 + "]" * 150))


def test_duplicate_json_keys_count_last() -> None:
    text = json.dumps(EVENT)
    twice = text.replace('"eventTime"', f'"eventTime": {NINE_MS - 5}, "eventTime"')
    assert key(twice) == key(text)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"eventBody": "text"}, "its eventBody is a value of type str"),
        ({"eventBody": [1]}, "its eventBody is a value of type list"),
        ({"topicName": None}, "The event has an eventBody, but no topicName"),
    ],
)
def test_event_that_cannot_be_opened_is_told_by_what_it_lacks(change: Event, said: str) -> None:
    one = element({**EVENT, "detail": {**DETAIL, **change}})
    assert one["detail"].startswith("UNKNOWN_SHAPE: ")
    assert said in one["detail"]


MS = 1765551865126
SECOND_MS = 1765551865000
LAST_MS = 253_402_300_799_999


@pytest.mark.parametrize(
    ("spelling", "ms"),
    [
        *((spelling, MS) for spelling in (MS, str(MS), MS / 1000, float(MS))),
        ("2025-12-12T15:04:25.126Z", MS),
        ("2025-12-12T15:04:25.126000Z", MS),
        ("2025-12-12T15:04:25.126999999Z", MS),
        ("2025-12-12T16:04:25.126+01:00", MS),
        ("2025-12-12T15:04:25.126", MS),
        ("2025-12-12T15:04:25.126+0000", MS),
        *((s, SECOND_MS) for s in (1765551865, "1765551865", 1765551865.0, "2025-12-12T15:04:25Z")),
        (100_000_000_000, 100_000_000_000),
        (99_999_999_999, 99_999_999_999_000),
        (LAST_MS, LAST_MS),
        *((text, None) for text in ("", "soon", "12:00", "9" * 30, "\ud800", "20260504110005123")),
        *((text, None) for text in ("0001-01-01T00:00:00Z", "2025-13-01T00:00:00Z")),
        *((number, None) for number in (0, -1, LAST_MS + 1, 10**20, float("inf"), float("nan"))),
        *((other, None) for other in (True, None, [], {})),
    ],
)
def test_time_is_read_in_every_spelling(spelling: Any, ms: int | None) -> None:
    assert maybe_ms(spelling) == ms


@given(st.integers(min_value=1, max_value=LAST_MS))
def test_iso_is_what_the_library_writes(ms: int) -> None:
    text = datetime.fromtimestamp(ms // 1000, UTC).replace(microsecond=ms % 1000 * 1000)
    assert iso(ms) == text.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    assert maybe_ms(iso(ms)) == ms


@given(st.text(max_size=30) | st.floats() | st.integers())
def test_whatever_comes_it_is_a_time_or_none(value: Any) -> None:
    ms = maybe_ms(value)
    assert ms is None or 0 < ms <= LAST_MS


SENT = MS + 10_000
WHOLE = "2025-12-12T15:04:25Z"


@pytest.mark.parametrize(
    ("business", "published", "envelope", "sent", "chosen"),
    [
        (MS, MS + 300, WHOLE, SENT, Moment(MS, 500, True)),
        (None, MS + 300, WHOLE, SENT, Moment(MS + 300, 500, True)),
        (None, SECOND_MS, None, SENT, Moment(SECOND_MS, 1500, True)),
        (None, None, WHOLE, SENT, Moment(SECOND_MS, 1500, False)),
        (None, None, None, SENT, Moment(SENT, 60_000, False)),
        (SENT + 300_000, MS, None, SENT, Moment(SENT + 300_000, 500, True)),
        (SENT + 300_001, MS, None, SENT, Moment(MS, 500, True)),
        (SENT + 300_001, SENT + 300_001, WHOLE, SENT, Moment(SECOND_MS, 1500, False)),
        (None, None, "2099-01-01T00:00:00Z", SENT, Moment(SENT, 60_000, False)),
        (MS * 10, None, None, None, Moment(MS * 10, 500, True)),
        (LAST_MS, None, None, None, Moment(LAST_MS, 500, True)),
        (None, None, None, None, None),
    ],
)
def test_first_clock_that_is_not_ahead_of_the_queue_counts(
    business: int | None, published: int | None, envelope: str | None, sent: int | None, chosen: Any
) -> None:
    assert choose(business, published, envelope, sent) == chosen
