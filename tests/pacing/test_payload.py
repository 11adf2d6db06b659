"""Pacing draws the right conclusions from the records and messages of a batch."""

from typing import Any

import pytest
from once_pacing import payload
from once_pacing.breaker import Row

STARTED_MS, LEASE_MS = 1_000, 311_000
KEY = "0123456789abcdef" * 4


def message(name: str, **more: Any) -> dict[str, Any]:
    return {
        "messageId": name,
        "receiptHandle": f"receipt of {name}",
        "subjectKey": "s",
        "sentAtMs": 7,
        "idempotencyKey": KEY,
        **more,
    }


def record(name: str, outcome: str, reason: str, **more: Any) -> dict[str, Any]:
    return {"messageId": name, "outcome": outcome, "reason": reason, **more}


def ended(*records: dict[str, Any], batch: tuple[Any, ...] = (), **more: Any) -> payload.End:
    asked = {
        "version": "1",
        "ask": "end",
        "startedMs": STARTED_MS,
        "leaseUntilMs": LEASE_MS,
        "ownAction": False,
        "pace": {"requestsAllowed": 2, "requestUntilMs": 9},
        "records": list(records),
        "batch": [message("m1"), *batch],
        **more,
    }
    found = payload.read(asked)
    assert isinstance(found, payload.End)
    return found


def test_the_requests_of_all_events_are_added_up() -> None:
    acted = record("m1", "PROCESSED", "ACTED", requests=2)
    failed = record("m2", "RETRY", "CALL_FAILED", requests=1)
    found = ended(
        acted, failed, record("m3", "RETRY", "HELD"), batch=(message("m2"), message("m3"))
    )
    assert found.requests == 3


@pytest.mark.parametrize(
    ("reason", "answered"),
    [("ACTED", True), ("REJECTED", True), ("UNCERTAIN", True)]
    + [
        (reason, False) for reason in ("CALL_FAILED", "FUNCTION_FAILED", "OBSERVED", "RATE_LIMITED")
    ],
)
def test_only_a_response_that_says_what_became_of_the_event_is_an_answer(
    reason: str, answered: bool
) -> None:
    """A failed request of one's own Lambda is none, though a request was sent."""
    found = ended(record("m1", "RETRY", reason, requests=1), ownAction=True)
    assert found.answered is answered


def test_after_a_failed_round_no_token_is_left_and_the_probe_keeps_its_turn() -> None:
    pace = {"requestsAllowed": 1, "requestUntilMs": 9, "slot": 5, "tokens": 4, "probe": 8}
    found = ended(record("m1", "RETRY", "ROUND_FAILED"), pace=pace)
    assert found.pace == payload.Pace(5, 4, 8)
    assert found.requests == 4
    assert ended(record("m1", "RETRY", "ROUND_FAILED")).requests == 1


def test_failures_that_the_function_could_not_note_are_noted_from_the_start_of_the_batch() -> None:
    first = record(
        "m1", "RETRY", "FUNCTION_FAILED", unnoted=True, firstFailure=True, failedAtMs=2_000
    )
    again = record("m2", "RETRY", "FUNCTION_FAILED", unnoted=True, failedAtMs=3_000)
    found = ended(first, again, batch=(message("m2", idempotencyKey="f" * 64),))
    assert (found.failed_ms, list(found.failures)) == (STARTED_MS, [KEY[:16]])
    assert ended({**first, "failedAtMs": STARTED_MS - 1}).failed_ms == STARTED_MS - 1
    noted = record("m1", "RETRY", "CALL_FAILED", firstFailure=True, failedAtMs=2_000)
    assert (ended(noted).failed_ms, list(ended(noted).failures)) == (None, [])


def test_the_longest_time_that_a_destination_asked_for_counts() -> None:
    short = record("m1", "RETRY", "RATE_LIMITED", retryAfterSeconds=5)
    long = record("m2", "RETRY", "RATE_LIMITED", retryAfterSeconds=90)
    assert ended(short, long, batch=(message("m2"),)).retry_after_seconds == 90
    assert ended(record("m1", "RETRY", "HELD")).retry_after_seconds is None


def test_a_returned_event_returns_with_its_copies_and_a_settled_one_not_at_all() -> None:
    copy = message("m2", copyOf="m1")
    back = ended(
        record("m1", "RETRY", "CALL_FAILED"),
        record("m2", "RETRY", "COLLAPSED", copyOf="m1"),
        record("m3", "PROCESSED", "ACTED"),
        batch=(copy, message("m3")),
    ).events
    receipts = {"m1": "receipt of m1", "m2": "receipt of m2"}
    assert back == [payload.Returned(receipts, "s", 7, "CALL_FAILED", None)]


@pytest.mark.parametrize(
    ("more", "until_ms"),
    [
        ({"reason": "HELD", "leaseUntilMs": 55}, 55),
        ({"reason": "CLAIM_UNANSWERED"}, LEASE_MS),
        ({"reason": "ROUND_FAILED"}, LEASE_MS),
        ({"reason": "SETUP_FAULT", "unconfirmed": True}, LEASE_MS),
        ({"reason": "SETUP_FAULT"}, None),
    ],
)
def test_an_event_waits_for_the_lease_of_a_claim_that_may_still_stand(
    more: dict[str, Any], until_ms: int | None
) -> None:
    (back,) = ended({**record("m1", "RETRY", ""), **more}).events
    assert back.lease_until_ms == until_ms


def test_the_row_and_the_pace_are_read_as_the_batch_knew_them() -> None:
    found = ended(breaker={"since": 4, "failed": 3}, ownAction=True)
    assert (found.breaker, found.own_action, found.events) == (Row(4, 3), True, [])
