"""No minute, wherever it begins, has more requests than the limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from once_data_action.breaker import Limiter

LIMITS = st.integers(10, 20_000)
MINUTE_MS = 60_000
LONGEST_ON_ITS_WAY_MS = 1_000


@given(per_minute=LIMITS, first_slot=st.integers(0, 10**9))
def test_slots_that_a_minute_can_meet_hold_at_most_the_limit(
    per_minute: int, first_slot: int
) -> None:
    limiter = Limiter(per_minute)
    # The last request of a slot arrives then: the minute that meets most slots begins with it.
    last_ms = limiter.request_until_ms(first_slot) + LONGEST_ON_ITS_WAY_MS
    slots = limiter.slot_at(last_ms + MINUTE_MS - 1) - first_slot + 1
    assert slots * limiter.quota <= per_minute


@pytest.mark.parametrize(("least", "share"), [(10, 0.8), (30, 0.9)])
def test_most_of_the_limit_can_be_used(least: int, share: float) -> None:
    for per_minute in range(least, 20_001):
        limiter = Limiter(per_minute)
        assert limiter.quota * MINUTE_MS / limiter.slot_ms >= share * per_minute, per_minute


@given(per_minute=LIMITS, now_ms=st.integers(0, 10**13), u=st.floats(0, 1, exclude_max=True))
def test_wait_for_a_slot_ends_in_the_next_one(per_minute: int, now_ms: int, u: float) -> None:
    limiter = Limiter(per_minute)
    then_ms = now_ms + limiter.wait_ms(now_ms, u)
    assert limiter.slot_at(then_ms) == limiter.slot_at(now_ms) + 1
