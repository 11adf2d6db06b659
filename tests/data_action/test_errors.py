"""The one form of every error, read as the state machine reads it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from once_data_action import errors
from once_data_action.errors import ActionError, Rejected

from tests.data_action.support import Bench, read_error

NAMES = {error.__name__ for error in ActionError.__subclasses__()}


@given(
    st.text(max_size=1_000), st.none() | st.integers(100, 999), st.none() | st.integers(0, 86_400)
)
def test_an_error_is_one_ascii_object_of_sentence_and_facts(
    sentence: str, status: int | None, seconds: int | None
) -> None:
    error = Rejected(f"it said: {sentence}", status=status, retry_after_seconds=seconds)
    error.requests, error.ended_ms, error.duration_ms = 2, 1_777_888_808_123, 8_000
    assert str(error).isascii()
    assert str(error).startswith('{"once":"1",')
    read = read_error(error)
    assert read.pop("sentence").startswith("it said: ")
    facts = {
        "requests": 2,
        "status": status,
        "retryAfterSeconds": seconds,
        "endedMs": 1_777_888_808_123,
        "durationMs": 8_000,
    }
    assert read == {name: value for name, value in facts.items() if value is not None}


def test_a_sentence_keeps_what_ascii_can_print_and_is_cut() -> None:
    error = Rejected('say "*" = "<id>" in [actions]\nof C:\\x ~ f\u00fcr \ud800 ' + "x" * 400)
    read = read_error(error)
    assert read["sentence"].startswith('say "*" = "<id>" in [actions]?of C:\\x ~ f?r ? xxx')
    assert len(read["sentence"]) == 300


@pytest.mark.parametrize(
    ("asked", "name", "requests"),
    [
        ({"requestsAllowed": 2, "retry": 0}, "Transient", 1),
        ({"requestsAllowed": 2, "retry": 1}, "Failed", 2),
        ({"requestsAllowed": 1, "retry": 0}, "Failed", 1),
        ({"requestsAllowed": 2.0, "retry": 0.0}, "Transient", 1),
    ],
)
@pytest.mark.parametrize("reply", [500, "reset", "timeout"])
def test_transient_is_raised_only_if_a_second_request_is_allowed(
    either: Bench, asked: dict[str, int], name: str, requests: int, reply: object
) -> None:
    either.server.script.add({"replies": [reply]})
    raised, message = either.fails(remaining_ms=1_500, **asked)
    assert (raised, message["requests"]) == (name, requests)
    assert message["durationMs"] >= 0


@pytest.mark.parametrize(
    ("reply", "name"), [(422, "Rejected"), (429, "RateLimited"), (403, "NotAuthorised")]
)
def test_an_error_says_how_many_requests_were_made_and_when(
    either: Bench, reply: int, name: str
) -> None:
    either.server.script.add({"replies": [reply]})
    before = either.clock()
    raised, message = either.fails(retry=1)
    assert (raised, message["requests"], message["status"]) == (name, 2, reply)
    assert before <= message["endedMs"] - message["durationMs"]
    assert message["endedMs"] <= either.clock()


def test_an_error_before_the_first_request_says_so(either: Bench) -> None:
    name, message = either.fails(deadlineMs=1)
    assert name == "TooLate"
    assert message == {"sentence": message["sentence"], "requests": 0}


def test_a_failed_request_without_time_for_a_second_stays_failed(either: Bench) -> None:
    name, message = either.fails(deadlineMs=1, retry=1)
    assert name == "Failed"
    assert message == {"sentence": message["sentence"], "requests": 1}
    assert either.server.log == []


def test_a_result_says_how_many_requests_were_made(either: Bench) -> None:
    assert either.call(retry=1)["requests"] == 2


def test_an_unreadable_payload_makes_no_request(either: Bench) -> None:
    assert either.fails(version="1")[1]["requests"] == 0


def test_a_token_refused_and_renewed_is_one_request(genesys_action: Bench) -> None:
    genesys_action.call(1)
    genesys_action.server.expire_tokens()
    assert genesys_action.call(2, requestsAllowed=1)["requests"] == 1


def test_the_names_are_those_of_the_contract() -> None:
    assert sorted(NAMES) == [
        "Failed",
        "NotAuthorised",
        "NotConfigured",
        "Paused",
        "RateLimited",
        "Rejected",
        "TooLate",
        "Transient",
        "Uncertain",
    ]
    assert all(f"── {name} " in str(errors.__doc__) for name in NAMES)
