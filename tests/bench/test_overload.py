"""What bench.overload makes of the calls that the destination counted, and of what it saw wait."""

from bench.overload import Look, holds, most_in_a_minute, utilisation, waiting_spans

NEVER = (0, 0)
GOOD = {
    "lost": 0,
    "actedTwice": 0,
    "deadLetters": 0,
    "parked": 0,
    "limitPerMinute": 60,
    "mostCallsInAnyMinute": 60,
    "utilisation": 0.9,
    "probesWhileDown": 5,
}


def test_any_minute_counts_not_only_those_of_the_clock() -> None:
    assert most_in_a_minute([]) == 0
    assert most_in_a_minute([0, 59_000, 60_000, 61_000, 118_999]) == 4
    assert most_in_a_minute([0, 59_999, 60_000]) == 2


def test_only_the_time_counts_in_which_something_waits() -> None:
    looks = [Look(at, waiting, 3) for at, waiting in ((0, 0), (10, 5), (20, 5), (30, 5), (40, 0))]
    assert waiting_spans(looks, NEVER) == [(10, 20), (20, 30)]


def test_the_time_without_a_destination_does_not_count() -> None:
    looks = [Look(at, 5, 0) for at in range(0, 60, 10)]
    assert waiting_spans(looks, (15, 35)) == [(0, 10), (40, 50)]


def test_utilisation_is_the_share_of_the_calls_that_were_allowed_meanwhile() -> None:
    calls_ms = [500, 1_500, 2_500, 90_000]
    assert utilisation(calls_ms, [(0, 2_000), (2_000, 4_000)], 60) == 3 / 4
    assert utilisation(calls_ms, [(10_000, 12_000)], 60) == 0


def test_each_bound_bites() -> None:
    assert holds(GOOD)
    for worse in (
        {"lost": 1},
        {"actedTwice": 1},
        {"deadLetters": 1},
        {"parked": 1},
        {"mostCallsInAnyMinute": 61},
        {"utilisation": 0.89},
        {"probesWhileDown": 9},
    ):
        assert not holds(GOOD | worse), worse
