"""The one form of every error, read as the state machine reads it."""

import pytest
from data_action import errors
from data_action.errors import ActionError, Rejected
from hypothesis import given
from hypothesis import strategies as st

from tests.data_action.support import Bench, read_error

NAMES = {error.__name__ for error in ActionError.__subclasses__()}


@given(
    st.text(max_size=1_000), st.none() | st.integers(100, 999), st.none() | st.integers(0, 86_400)
)
def test_every_error_is_a_sentence_and_its_facts(
    sentence: str, status: int | None, seconds: int | None
) -> None:
    error = Rejected(f"it said: {sentence}", status=status, retry_after_seconds=seconds)
    error.calls, error.started_ms, error.ended_ms = 2, 1_777_888_800_123, 1_777_888_808_123
    read = read_error(error)
    assert read.pop("sentence").startswith("it said: ")
    facts = {
        "calls": 2,
        "status": status,
        "startedMs": 1_777_888_800_123,
        "endedMs": 1_777_888_808_123,
        "retryAfterSeconds": seconds,
    }
    assert read == {name: value for name, value in facts.items() if value is not None}


def test_a_sentence_keeps_its_words_and_loses_what_json_or_the_machine_would_trip_over() -> None:
    error = Rejected('say "*" = "<id>" in [actions]\nof C:\\x, für all ' + "x" * 400)
    read = read_error(error)
    assert read["sentence"].startswith("say '*' = '<id>' in (actions)?of C:/x, f?r all xxx")
    assert len(read["sentence"]) == 300


@pytest.mark.parametrize(
    ("asked", "name", "calls"),
    [
        ({"callsAllowed": 2, "retry": 0}, "Transient", 1),
        ({"callsAllowed": 2, "retry": 1}, "Failed", 2),
        ({"callsAllowed": 1, "retry": 0}, "Failed", 1),
        ({"callsAllowed": 2.0, "retry": 0.0}, "Transient", 1),
    ],
)
@pytest.mark.parametrize("reply", [500, "reset", "timeout"])
def test_a_second_call_is_asked_for_only_where_it_is_allowed(
    either: Bench, asked: dict[str, int], name: str, calls: int, reply: object
) -> None:
    either.server.script.add({"replies": [reply]})
    raised, message = either.fails(remaining_ms=1_500, **asked)
    assert (raised, message["calls"]) == (name, calls)
    assert message["startedMs"] <= message["endedMs"]


@pytest.mark.parametrize(
    ("reply", "name"), [(422, "Rejected"), (429, "RateLimited"), (403, "NotAuthorised")]
)
def test_an_error_says_how_many_calls_were_made_and_when(
    either: Bench, reply: int, name: str
) -> None:
    either.server.script.add({"replies": [reply]})
    before = either.clock()
    raised, message = either.fails(retry=1)
    assert (raised, message["calls"], message["status"]) == (name, 2, reply)
    assert before <= message["startedMs"] <= message["endedMs"] <= either.clock()


def test_what_was_never_called_says_so(either: Bench) -> None:
    name, message = either.fails(deadlineMs=1)
    assert name == "TooLate"
    assert message == {"sentence": message["sentence"], "calls": 0}


def test_a_call_that_failed_is_a_failure_where_no_time_is_left_for_a_second(either: Bench) -> None:
    name, message = either.fails(deadlineMs=1, retry=1)
    assert name == "Failed"
    assert message == {"sentence": message["sentence"], "calls": 1}
    assert either.server.log == []


def test_an_answer_says_how_many_calls_were_made(either: Bench) -> None:
    assert either.call(retry=1)["calls"] == 2


def test_a_fault_of_the_request_is_no_call(either: Bench) -> None:
    assert either.fails(version="1")[1]["calls"] == 0


def test_a_token_refused_and_renewed_is_one_call(genesys_action: Bench) -> None:
    genesys_action.call(1)
    genesys_action.server.expire_tokens()
    assert genesys_action.call(2, callsAllowed=1)["calls"] == 1


def test_the_names_are_those_of_the_contract() -> None:
    assert sorted(NAMES) == [
        "Failed",
        "NotAuthorised",
        "NotConfigured",
        "RateLimited",
        "Rejected",
        "TooLate",
        "Transient",
        "Uncertain",
    ]
    assert all(f"── {name} " in str(errors.__doc__) for name in NAMES)


def test_what_ascii_can_print_stays_and_all_else_is_a_question_mark() -> None:
    assert read_error(Rejected("it said ~ and f\u00fcr\n"))["sentence"] == "it said ~ and f?r?"
