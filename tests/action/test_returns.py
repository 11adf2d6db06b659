"""An event that waits comes back in time, and after an outage in order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from once_data_action.breaker import Row, Times, retry_in_seconds

TIMES = Times.of()
NOW = 1_777_888_800_000
MINUTE, HOUR, DAY = 60, 3_600, 86_400
MIDDLE = 0.5  # the draw with which what varies by a half does not vary
REASONS = ("PAUSED", "BREAKER_OPEN", "RATE_LIMITED", "LIMITED", "CALL_FAILED", "SETUP_FAULT")


def delay(reason: str, age: float = 0, row: Row | None = None, u: float = MIDDLE) -> int:
    return retry_in_seconds(reason, NOW - round(age * 1_000), row, NOW, u, TIMES)


def ago(seconds: float) -> int:
    return NOW - round(seconds * 1_000)


@pytest.mark.parametrize(("age", "wanted"), [(0, 30), (5 * MINUTE, 5 * MINUTE), (DAY, 600)])
def test_failed_request_waits_as_long_as_its_event_is_old_within_bounds(
    age: int, wanted: int
) -> None:
    assert delay("CALL_FAILED", age) == wanted
    assert delay("CALL_FAILED", age, u=0) == wanted / 2
    assert delay("CALL_FAILED", age, u=1) == wanted * 1.5


@pytest.mark.parametrize("reason", ["SETUP_FAULT", "TOO_LATE"])
def test_unsent_event_comes_back_after_a_fifth_of_its_age(reason: str) -> None:
    looks = [delay(reason, age) for age in (0, MINUTE, 10 * MINUTE, HOUR, DAY)]
    assert looks == [20, 20, 120, 600, 600]


def test_limited_backlog_spreads_with_its_age() -> None:
    assert [delay("LIMITED", age) for age in (0, 40, HOUR, DAY)] == [2, 10, 600, 600]
    assert (delay("LIMITED", 40, u=0), delay("LIMITED", 40, u=1)) == (5, 15)


def test_backlog_of_an_outage_comes_back_in_the_order_it_arrived() -> None:
    row = Row(ago(HOUR), 20, open_until_ms=ago(-4 * MINUTE))
    first, later = (delay("BREAKER_OPEN", age, row, u=0) for age in (HOUR, HOUR / 2))
    assert first == 4 * MINUTE + HOUR / 100
    assert later == first + HOUR / 2 / 25
    assert delay("BREAKER_OPEN", HOUR, row, u=1) == first + 10


def test_event_of_a_long_outage_has_one_look_per_period_at_its_own_moment() -> None:
    row = Row(ago(DAY), 20, open_until_ms=ago(-4 * MINUTE))
    begins = 450 - NOW // 1_000 % 450
    looks = [delay("BREAKER_OPEN", age, row, u) for age in (DAY, DAY / 2, 0) for u in (0, 1)]
    assert looks == [begins, begins, begins + 225, begins + 225, begins + 450, begins + 450]


def test_outage_is_long_after_two_hours() -> None:
    row = Row(ago(2 * HOUR), 20, open_until_ms=NOW)
    assert delay("BREAKER_OPEN", 2 * HOUR, row, u=0) == 2 * HOUR / 100
    longer = Row(ago(2 * HOUR + 1), 20, open_until_ms=NOW)
    assert delay("BREAKER_OPEN", 2 * HOUR + 1, longer, u=0) == 450 - NOW // 1_000 % 450


def test_only_an_open_breaker_or_a_pause_makes_an_outage() -> None:
    assert delay("CALL_FAILED", HOUR, Row(ago(HOUR), 2)) == 600
    paused = Row(ago(HOUR), not_before_ms=NOW, held="repairs")
    assert delay("CALL_FAILED", HOUR, paused, u=0) == HOUR / 100


def test_event_from_before_the_outage_goes_by_its_own_age_but_not_into_the_pause() -> None:
    row = Row(ago(HOUR), 20, open_until_ms=ago(-4 * MINUTE))
    assert delay("BREAKER_OPEN", HOUR + 2 * MINUTE, row) == 600
    assert delay("BREAKER_OPEN", HOUR + MINUTE, row, u=0) == 4 * MINUTE + HOUR / 100
    assert delay("SETUP_FAULT", HOUR + 2 * MINUTE, row, u=0) >= 4 * MINUTE


@pytest.mark.parametrize("reason", REASONS)
def test_no_event_comes_back_during_a_429_and_not_all_at_its_end(reason: str) -> None:
    row = Row(NOW, not_before_ms=ago(-3 * MINUTE))
    assert delay(reason, u=0, row=row) >= 3 * MINUTE
    assert delay(reason, u=1, row=row) >= 3 * MINUTE + 10


def test_long_pause_is_looked_at_every_quarter_of_an_hour() -> None:
    row = Row(NOW, not_before_ms=ago(-11 * HOUR), held="repairs")
    assert delay("PAUSED", row=row) == 900


@settings(max_examples=50)
@given(
    reason=st.sampled_from(REASONS),
    age=st.floats(0, 11 * DAY),
    since=st.none() | st.floats(0, 11 * DAY),
    until=st.none() | st.floats(0, 2 * DAY),
    u=st.floats(0, 1),
)
def test_delay_is_always_one_that_sqs_takes(
    reason: str, age: float, since: float | None, until: float | None, u: float
) -> None:
    row = Row(ago(since), 3, None if until is None else ago(-until)) if since else None
    assert 1 <= delay(reason, age, row, u) <= 900
