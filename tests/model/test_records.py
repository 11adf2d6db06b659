"""One line of the outcome log: what it says by itself."""

import json
from typing import Any

import pytest

from once.model.reasons import Outcome
from once.model.records import Record
from tests.model.support import NOW_MS, record


def test_a_line_of_the_log_is_a_record_if_it_names_a_message() -> None:
    read = Record.parse(json.dumps({"firstMessageId": "m", "outcome": "PARKED"}), NOW_MS)
    assert read is not None
    assert (read.outcome, read.recorded_at_ms, read.key) == (Outcome.PARKED, NOW_MS, None)
    assert Record.parse('{"outcome": "PARKED"}', NOW_MS) is None


@pytest.mark.parametrize(
    ("error", "requests"),
    [
        ("Runtime.ImportModuleError", 0),
        ("MemoryError", 1),
        (None, 1),
    ],
)
def test_a_function_that_failed_may_have_sent_a_request(error: str | None, requests: int) -> None:
    failed = record("a", "RETRY", "FUNCTION_FAILED", error_class=error)
    assert (failed.sent_requests, failed.has_known_requests) == (requests, not requests)
    assert record("a", "RETRY", "CALL_FAILED", requests=2).has_known_requests


def test_an_event_that_waits_is_due_within_the_longest_delay() -> None:
    put_back = record("a", "RETRY", "LIMITED", 0, retry_in_seconds=5_000)
    assert put_back.due_at_ms == NOW_MS + 900_000


@pytest.mark.parametrize(
    ("outcome", "reason", "fields", "why"),
    [
        ("PROCESSED", "ACTED", {"status": 200}, ""),
        ("PROCESSED", "ACTED", {"unconfirmed": True}, "the completion write failed"),
        ("PROCESSED", "OTHER", {"unconfirmed": True}, "other: the completion write failed"),
        ("RETRY", "HELD", {"unconfirmed": True}, "another execution works on it"),
        ("PARKED", "OTHER", {"status": 422}, "other: HTTP 422"),
        ("PARKED", "OTHER", {"error_class": "Bad", "status": 422}, "other: Bad"),
    ],
)
def test_a_record_says_why(outcome: str, reason: str, fields: dict[str, Any], why: str) -> None:
    assert record("a", outcome, reason, **fields).why == why


def test_a_duplicate_for_a_reason_of_another_release_is_a_copy() -> None:
    assert record("a", "DUPLICATE", "OTHER").is_copy
    assert not record("a", "PARKED", "OTHER").is_copy
    assert not record("a", "DUPLICATE", "UNCHANGED").is_copy
