"""The Catch of RunAction reads an error by its class and by the facts in its message."""

import json
from typing import Any

import pytest

from proof.asl.jsonata import Clock, Library
from proof.definition.asl import states

NOW_MS = 1_777_888_800_000
CATCH = states()["RunAction"]["Catch"][-1]
REASONS = {
    "Failed": "CALL_FAILED",
    "Transient": "CALL_FAILED",
    "RateLimited": "RATE_LIMITED",
    "Rejected": "REJECTED",
    "Uncertain": "UNCERTAIN",
    "NotAuthorised": "SETUP_FAULT",
    "NotConfigured": "SETUP_FAULT",
    "TooLate": "TOO_LATE",
    "Paused": "BREAKER_OPEN",
}


def verdict(name: str, message: str) -> dict[str, Any]:
    """Reads an error that Lambda reports of a function, for an event that never failed before."""
    cause = {"errorMessage": message, "errorType": name, "requestId": "0", "stackTrace": ["a"]}
    return read_verdict(name, json.dumps(cause))


def read_verdict(name: str, cause: str) -> dict[str, Any]:
    variables = {
        "states": {"errorOutput": {"Error": name, "Cause": cause}},
        "claim": {"tries": 0, "failedAtMs": 0},
        "startedMs": NOW_MS - 1_000,
        "made": 0,
        "breaker": {},
        "breakerUnread": False,
    }
    found = Library().evaluate(CATCH["Assign"]["verdict"][2:-2], variables, Clock(NOW_MS))
    assert isinstance(found, dict)
    return found


def facts(**known: Any) -> str:
    return json.dumps({"once": "1", **known}, separators=(",", ":"))


@pytest.mark.parametrize(("name", "reason"), REASONS.items())
@pytest.mark.parametrize(
    "message",
    ["", "no facts", '{"status": 503}', facts(), facts(sentence="it said no", requests=1)],
)
def test_a_documented_class_keeps_its_reason_whatever_it_says(
    name: str, reason: str, message: str
) -> None:
    assert verdict(name, message)["reason"] == reason


def test_facts_behind_the_marker_are_in_the_verdict() -> None:
    message = facts(
        sentence='no "space" in C:\\temp [yet]',
        requests=2,
        status=429,
        retryAfterSeconds=170,
        endedMs=NOW_MS - 5,
        durationMs=40,
    )
    found = verdict("RateLimited", message)
    assert found["cause"] == 'no "space" in C:\\temp [yet]'
    assert (found["requests"], found["status"], found["retryAfterSeconds"]) == (2, 429, 170)
    assert verdict("Failed", message)["failedAtMs"] == NOW_MS - 5


@pytest.mark.parametrize(
    "message", ["quotes +4915550001234 [requests=0]", '{"sentence":"quotes it","requests":0}']
)
def test_text_without_the_marker_is_not_quoted_and_counts_as_a_request(message: str) -> None:
    found = verdict("Failed", message)
    assert "cause" not in found
    assert found["requests"] == 1


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("KeyError", "FUNCTION_FAILED"),
        ("Runtime.ImportModuleError", "FUNCTION_FAILED"),
        ("Runtime.ExitError", "FUNCTION_FAILED"),
        ("Sandbox.Timedout", "FUNCTION_TIMED_OUT"),
        ("States.Timeout", "FUNCTION_TIMED_OUT"),
    ],
)
def test_a_class_that_is_not_documented_is_a_failure_of_the_function(
    name: str, reason: str
) -> None:
    found = verdict(name, "+4915550001234")
    assert (found["reason"], found["errorClass"]) == (reason, name)
    assert ("+49" in found["cause"]) == (name != "KeyError"), "its own text may quote a customer"
    assert found["unnoted"], "so pacing notes it"


@pytest.mark.parametrize(
    "message",
    [
        '{"once":"1"',
        '{"once":"1", oops}',
        '{"once":"1","status":007}',
        '{"once":"1","status":1e9999}',
        '{"once":"1","sentence":"cut off',
        '{"once":"1","sentence":"a\\u00zz"}',
        '{"once":"1","sentence":"two\nlines"}',
        '{"once":"1","sentence":"' + "long" * 5_000 + '"}',
    ],
)
def test_a_message_that_only_begins_as_facts_fails_nothing(message: str) -> None:
    found = verdict("RateLimited", message)
    assert (found["reason"], found["requests"], found["retryAfterSeconds"]) == (
        "RATE_LIMITED",
        1,
        30,
    )
    assert "cause" not in found


def test_a_cause_that_is_cut_off_still_has_its_facts() -> None:
    message = facts(sentence='no "space" in C:\\temp', status=503)
    whole = json.dumps({"errorMessage": message, "stackTrace": ["a" * 40_000]})
    found = read_verdict("Failed", whole[:32_768])
    assert (found["status"], found["cause"]) == (503, 'no "space" in C:\\temp')


def test_facts_of_another_type_are_left_out() -> None:
    found = verdict("Rejected", facts(sentence=["x"], requests="2", status="500"))
    assert found["requests"] == 1
    assert not {"cause", "status"} & found.keys()


def test_a_long_sentence_is_cut() -> None:
    assert len(verdict("Rejected", facts(sentence="x" * 900))["cause"]) == 300
