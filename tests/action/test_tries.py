"""A failure is a try if it is an event's first, or if a request succeeded since its last one."""

import pytest
from once_data_action.request import Tries


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
def test_failure_counts_only_if_other_requests_succeeded(
    tries: Tries, since_ms: int | None, count: int
) -> None:
    assert tries.after_failure(since_ms, 200) == Tries(count, 200)


def test_tries_are_over_only_by_a_failure_that_was_one() -> None:
    assert Tries(5).are_over(5, before=Tries(4))
    assert not Tries(4).are_over(5, before=Tries(3))
    assert not Tries(7).are_over(5, before=Tries(7)), "MaxTries was lowered in an outage"
