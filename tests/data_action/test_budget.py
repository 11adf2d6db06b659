"""A request begins and ends within its budget, to the millisecond."""

import pytest
from once_data_action.breaker import Breaker
from once_data_action.errors import TooLate
from once_data_action.request import ActionRequest, Budget

from tests.data_action.support import TABLE, FakeTable, payload

NOW = 1_777_888_800_000


class Clock:
    """Stands still until somebody moves it."""

    def __init__(self) -> None:
        self.ms = NOW

    def __call__(self) -> int:
        return self.ms


def budget(
    clock: Clock, *, deadline_ms: int = 60_000, request_ms: int = 8_000, remaining_ms: int = 20_000
) -> Budget:
    return Budget(NOW + deadline_ms, request_ms, remaining_ms, clock)


def test_no_call_begins_at_the_deadline_and_one_may_a_millisecond_before() -> None:
    clock = Clock()
    with pytest.raises(TooLate, match="its batch had no time left"):
        budget(clock, deadline_ms=0).seconds_for_a_request()
    assert budget(clock, deadline_ms=1).seconds_for_a_request() == 8


def test_all_requests_of_a_call_share_its_time_from_the_first_on() -> None:
    clock = Clock()
    one = budget(clock)
    assert one.started_ms is None
    assert one.seconds_for_a_request() == 8
    clock.ms += 3_000
    assert one.seconds_for_a_request() == 5
    assert one.started_ms == NOW


def test_a_second_is_kept_to_answer_before_lambda_ends_the_function() -> None:
    assert budget(Clock(), remaining_ms=5_000).seconds_for_a_request() == 4


@pytest.mark.parametrize(("remaining_ms", "begins"), [(1_099, False), (1_100, True)])
def test_a_call_without_time_for_an_answer_is_not_made(remaining_ms: int, begins: bool) -> None:
    one = budget(Clock(), remaining_ms=remaining_ms)
    if begins:
        assert one.seconds_for_a_request() == 0.1
    else:
        with pytest.raises(TooLate):
            one.seconds_for_a_request()
        assert one.started_ms is None


@pytest.mark.parametrize(("lasted_ms", "requests"), [(1_000, 0), (1_001, 1)])
def test_only_an_answer_slower_than_a_second_may_end_an_unread_row(
    lasted_ms: int, requests: int
) -> None:
    table = FakeTable()
    request = ActionRequest.read(payload(deadlineMs=NOW))
    Breaker(TABLE, table, lambda: NOW + lasted_ms).note(request, NOW, None)
    assert len(table.requests) == requests
