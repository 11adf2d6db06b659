"""A returned message has its next attempt in time and in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from once_pacing.breaker import Row
from once_pacing.returns import LONGEST_SECONDS, Backlog, Waiting, delay_ms, whole_seconds
from once_pacing.times import Times

TIMES = Times.of()
NOW = 1_777_888_800_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
MIDDLE = 0.5  # the draw with which what varies by a half does not vary


def delay(
    reason: str,
    age_ms: int = 0,
    row: Row | None = None,
    *,
    u: float = MIDDLE,
    lease_ms: int | None = None,
    backlog: Backlog | None = None,
) -> float:
    lease_until_ms = None if lease_ms is None else NOW + lease_ms
    event = Waiting(NOW - age_ms, reason, lease_until_ms)
    return delay_ms(event, row, backlog, NOW, u, TIMES)


@pytest.mark.parametrize(
    ("age_ms", "expected_ms"), [(0, 30_000), (5 * MINUTE, 5 * MINUTE), (DAY, 30 * MINUTE)]
)
def test_a_failed_call_waits_as_long_as_its_event_is_old_within_bounds(
    age_ms: int, expected_ms: int
) -> None:
    assert delay("CALL_FAILED", age_ms) == expected_ms
    assert delay("CALL_FAILED", age_ms, u=0) == expected_ms / 2
    assert delay("CALL_FAILED", age_ms, u=1) == expected_ms * 1.5


@pytest.mark.parametrize("reason", ["THROTTLED", "SETUP_FAULT", "TOO_LATE", "NOT_REACHED"])
def test_an_unsent_event_returns_after_a_fifth_of_its_age_and_later_a_tenth(
    reason: str,
) -> None:
    assert delay(reason, MINUTE) == 20_000
    assert delay(reason, 10 * MINUTE) == 2 * MINUTE
    assert delay(reason, 2 * HOUR) == 12 * MINUTE
    assert delay(reason, 4 * HOUR) == 24 * MINUTE
    assert delay(reason, 10 * HOUR) == 30 * MINUTE


def test_the_backlog_of_an_outage_returns_in_the_order_it_came() -> None:
    row = Row(NOW - HOUR, 20, open_until_ms=NOW + 4 * MINUTE)
    first, later = (delay("BREAKER_OPEN", age_ms, row, u=0) for age_ms in (HOUR, HOUR // 2))
    assert first == 4 * MINUTE + HOUR / 100
    assert later == first + HOUR / 2 / 25
    assert delay("BREAKER_OPEN", HOUR, row, u=1) == first + 10_000


def test_after_hours_each_event_of_an_outage_returns_once_in_half_an_hour_at_its_own_moment() -> (
    None
):
    row = Row(NOW - DAY, 20, open_until_ms=NOW + 4 * MINUTE)
    begins = 30 * MINUTE - NOW % (30 * MINUTE)
    looks = [
        delay("BREAKER_OPEN", age_ms, row, u=u) for age_ms in (DAY, DAY // 2, 0) for u in (0, 1)
    ]
    expected = [begins, begins, begins + 15 * MINUTE, begins + 15 * MINUTE]
    assert looks == [*expected, begins + 30 * MINUTE, begins + 30 * MINUTE]
    later = Row(NOW - DAY, 20, open_until_ms=NOW)
    assert delay("CALL_FAILED", DAY // 4, later) == begins + 22.5 * MINUTE


def test_outage_is_long_after_more_than_six_hours() -> None:
    row = Row(NOW - 6 * HOUR, 20, open_until_ms=NOW)
    assert delay("BREAKER_OPEN", 6 * HOUR, row, u=0) == 6 * HOUR / 100
    longer = Row(NOW - 6 * HOUR - 1, 20, open_until_ms=NOW)
    assert delay("BREAKER_OPEN", 6 * HOUR + 1, longer, u=0) == 30 * MINUTE - NOW % (30 * MINUTE)


def test_only_an_opened_breaker_and_a_pause_make_an_outage() -> None:
    assert delay("CALL_FAILED", HOUR, Row(NOW - 2 * HOUR, 3)) == 30 * MINUTE
    paused = Row(NOW - 2 * HOUR, not_before_ms=NOW, held="repairs")
    assert delay("CALL_FAILED", 2 * HOUR, paused, u=0) == 2 * HOUR / 100


def test_an_event_of_before_the_outage_goes_by_its_own_age_but_not_into_the_pause() -> None:
    row = Row(NOW - HOUR, 20, open_until_ms=NOW + 4 * MINUTE)
    assert delay("BREAKER_OPEN", HOUR + 2 * MINUTE, row) == 12 * MINUTE
    assert delay("CALL_FAILED", HOUR + 2 * MINUTE, row) >= 4 * MINUTE


def test_a_message_that_waits_for_a_claim_returns_within_30_s_of_its_lease() -> None:
    assert delay("HELD", lease_ms=8_000) == 9_000
    assert delay("HELD", lease_ms=200_000) == 30_000
    assert delay("HELD", lease_ms=-5_000) == 1_000


def test_a_message_that_may_own_its_claim_returns_after_the_lease() -> None:
    assert delay("ROUND_FAILED", lease_ms=200_000) == 201_000
    assert delay("ROUND_FAILED", MINUTE) == 20_000


def test_a_claim_that_stays_unanswered_for_days_is_not_tried_at_each_end_of_its_lease() -> None:
    assert delay("CLAIM_UNANSWERED", MINUTE, lease_ms=300_000) == 301_000
    assert delay("CLAIM_UNANSWERED", DAY, lease_ms=300_000) == 30 * MINUTE


@pytest.mark.parametrize("reason", ["CLAIM_UNREADABLE", "PARKING_FAILED", "OVERFLOW_FAILED"])
def test_an_event_that_cannot_be_parked_is_a_dead_letter_with_days_left(
    reason: str,
) -> None:
    assert delay(reason, 10 * DAY) == 30 * MINUTE
    assert delay(reason, 10 * DAY + 1) == 2 * MINUTE
    assert delay("CLAIM_UNANSWERED", 10 * DAY + 1, lease_ms=300_000) == 2 * MINUTE
    assert delay("BREAKER_OPEN", 10 * DAY + 1, Row(NOW - 11 * DAY, 20, NOW + MINUTE)) == 2 * MINUTE


def test_those_over_the_limit_spread_over_four_fifths_of_what_they_need() -> None:
    backlog = Backlog(messages=3_000, per_minute=300)
    assert delay("LIMITED", backlog=backlog, u=0) == 1_000
    assert delay("LIMITED", backlog=backlog, u=1) == 1_000 + 8 * MINUTE
    assert delay("LIMITED", backlog=Backlog(0, 300), u=1) == 3_000


@given(u=st.floats(0, 1), messages=st.integers(0, 10**6))
def test_a_raised_limit_is_used_within_half_an_hour(u: float, messages: int) -> None:
    assert delay("LIMITED", backlog=Backlog(messages, 10), u=u) <= 30 * MINUTE + 1_000


def test_waiting_for_a_limit_for_ten_days_leaves_receives_to_park_the_event() -> None:
    looks = [delay("LIMITED", backlog=Backlog(10**6, 10), u=at / 100) for at in range(101)]
    assert 10 * DAY / (sum(looks) / len(looks)) < 700, "SQS allows 1,000"


def test_no_retry_during_a_429_or_a_pause() -> None:
    pause = Row(NOW, not_before_ms=NOW + 3 * MINUTE)
    held = Row(NOW, not_before_ms=NOW + HOUR, held="repairs")
    for reason in ("RATE_LIMITED", "CALL_FAILED", "NOT_REACHED", "BREAKER_OPEN"):
        assert delay(reason, u=0, row=pause) >= 3 * MINUTE
        assert delay(reason, u=0, row=held) >= 30 * MINUTE, "a pause may end before its time"


def test_an_event_that_the_breaker_stopped_returns_immediately_if_it_has_closed() -> None:
    assert delay("BREAKER_OPEN", DAY, u=1) == 10_000


@given(milliseconds=st.floats(0, 1e12))
def test_a_return_time_is_a_number_of_seconds_that_sqs_takes(milliseconds: float) -> None:
    seconds = whole_seconds(milliseconds)
    assert 1 <= seconds <= LONGEST_SECONDS < 43_200
    assert seconds * 1_000 >= milliseconds or seconds == LONGEST_SECONDS
