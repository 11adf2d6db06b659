"""The payload of the state machine, the time for it, the tries, and the JSON that is sent."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from once_data_action.errors import NotConfigured, NotNow
from once_data_action.genesys import COMMON, read_inputs
from once_data_action.request import ActionRequest, Budget, Tries, body_text, encode, webhook_text

from tests.action.support import NOW, Clock, event, payload

BODY = {
    "deep": {"list": [{"name": "first"}, {"name": "second"}]},
    "Customer Tier": "gold",
    "flag": False,
    "nothing": None,
}


def test_numbers_are_read_as_jsonata_writes_them() -> None:
    one = event() | {"occurredAtMs": 1.777888800123e12}
    request = ActionRequest.read(payload(event=one, tries=2.0, failedAtMs=1.7e12, deaths=1.0))
    assert (request.tries, request.deaths) == (Tries(2, 1_700_000_000_000), 1)
    assert '"occurredAtMs":1777888800123,' in webhook_text(request)


@pytest.mark.parametrize(
    "changes",
    [
        {"version": "2"},
        {"idempotencyKey": "0f"},
        {"idempotencyKey": None},
        {"tries": "1"},
        {"tries": True},
        {"failedAtMs": None},
        {"event": {"family": "x"}},
        {"event": "text"},
        {"event": {name: value for name, value in event().items() if name != "raw"}},
    ],
)
def test_payload_of_another_release_is_a_configuration_error(changes: dict[str, Any]) -> None:
    given = payload() | changes
    with pytest.raises(NotConfigured, match="same release"):
        ActionRequest.read(given)


def test_requests_of_an_event_share_one_time_and_begin_before_the_deadline() -> None:
    clock = Clock()
    with pytest.raises(NotNow):
        Budget(NOW, 8_000, clock).seconds_for_a_request()
    budget = Budget(NOW + 4_000, 8_000, clock)
    assert (budget.started_ms, budget.seconds_for_a_request()) == (None, 8)
    clock.ms += 3_000
    assert (budget.started_ms, budget.seconds_for_a_request()) == (NOW, 5)
    clock.ms += 1_000
    with pytest.raises(NotNow):
        budget.seconds_for_a_request()


def test_request_that_is_left_less_than_a_tenth_of_a_second_is_not_sent() -> None:
    clock = Clock()
    budget = Budget(NOW + 60_000, 8_000, clock)
    budget.seconds_for_a_request()
    clock.ms += 7_900
    assert budget.seconds_for_a_request() == 0.1
    clock.ms += 1
    with pytest.raises(NotNow):
        budget.seconds_for_a_request()


@pytest.mark.parametrize(
    ("raw", "path"),
    [
        ('{"a":{"b": BODY }}', ["a", "b"]),
        (' { "a" : 1 , "b" : BODY } ', ["b"]),
        ('{"b":{"old":1},"b":BODY}', ["b"]),
        ('{"a\\u0062":BODY,"x":[1,{"ab":2}]}', ["ab"]),
        ("BODY", []),
    ],
)
def test_body_is_cut_from_the_message_character_by_character(raw: str, path: list[str]) -> None:
    body = '{"n":1.10,"big":12345678901234567890.12345678901234567890,"e":1E400, "t":"\\u00fc"}'
    one = event() | {"raw": raw.replace("BODY", body), "bodyPath": path, "body": "another"}
    assert body_text(one) == body
    text = webhook_text(ActionRequest.read(payload(event=one)))
    assert text.endswith(f',"body":{body}}}')
    assert "another" not in text


@settings(max_examples=40)
@given(
    body=st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=5,
    ),
    keys=st.lists(st.text(), max_size=3),
    texts=st.sets(st.integers(0, 3)),
)
def test_body_is_found_through_objects_and_texts_of_json(
    body: Any, keys: list[str], texts: set[int]
) -> None:
    value: Any = {"body": body}
    for depth, key in enumerate(reversed(keys)):
        value = json.dumps(value) if depth in texts else value
        value = {"": 1, key: value, "\\": 2} | {key: value}
    one = {"raw": json.dumps(value), "bodyPath": keys}
    assert json.loads(body_text(one)) == {"body": body}


def test_event_without_a_body_has_an_empty_one() -> None:
    assert body_text({"raw": '{"body":null}', "bodyPath": ["body"]}) == "{}"


@pytest.mark.parametrize("raw", ["{}", "[1]", "", '{"a"', '{"b":{"c":1}}', '{"a":"x"}'])
def test_path_without_a_body_is_a_configuration_error(raw: str) -> None:
    with pytest.raises(NotConfigured):
        body_text({"raw": raw, "bodyPath": ["a", "c"]})


def test_half_of_a_pair_of_surrogates_is_sent_as_its_escape() -> None:
    assert json.loads(encode('{"odd":"\ud800 ü"}')) == {"odd": "\ud800 ü"}


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("idempotencyKey", "key"),
        ("subject.id", "c1"),
        ("occurredAtMs", 1_777_888_800_123),
        ("ids.absentId", None),
        ("body.deep.list.1.name", "second"),
        ("body.deep.list.2.name", None),
        ("body.deep.list.name", None),
        ("body.Customer Tier", "gold"),
        ("body.flag", False),
        ("body.nothing", None),
        ("body.deep", '{"list":[{"name":"first"},{"name":"second"}]}'),
        ("body.flag.deeper", None),
    ],
)
def test_input_of_a_data_action_is_read_from_its_place(source: str, wanted: object) -> None:
    inputs = read_inputs({"value": source}, event(body=json.dumps(BODY)), "key")
    assert inputs == ({} if wanted is None else {"value": wanted})


def test_common_inputs_carry_the_key_and_the_time_and_need_no_body() -> None:
    inputs = read_inputs(COMMON, event(body="no JSON"), "key")
    assert inputs["idempotencyKey"] == "key"
    assert inputs["occurredAtMs"] == 1_777_888_800_123


@pytest.mark.parametrize(
    ("tries", "since_ms", "count"),
    [
        (Tries(), 100, 1),  # the first
        (Tries(), None, 1),  # the first, if the note of it was lost as well
        (Tries(0, 150), 100, 1),  # the first that it lives to note: it died at 150
        (Tries(1, 150), 100, 1),  # no success since 100
        (Tries(1, 150), 150, 1),
        (Tries(1, 150), 151, 2),  # the row began anew: a request succeeded
        (Tries(1, 150), None, 1),  # nobody knows
    ],
)
def test_failure_is_a_try_if_it_is_the_first_or_other_requests_succeeded(
    tries: Tries, since_ms: int | None, count: int
) -> None:
    assert tries.after_failure(since_ms, 200) == Tries(count, 200)


def test_tries_are_over_only_by_a_failure_that_was_one() -> None:
    assert Tries(5).are_over(5, before=Tries(4))
    assert not Tries(4).are_over(5, before=Tries(3))
    assert not Tries(7).are_over(5, before=Tries(7)), "MaxTries was lowered in an outage"
