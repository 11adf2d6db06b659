"""bench.overload judges the requests that the destination counted, and the waits that it saw."""

import pytest

from bench.overload import Look, flaws, most_in, percentile, utilisation, waiting_spans

GOOD = {
    "sent": 100,
    "acted": 95,
    "poison": 5,
    "parked": 5,
    "givenUp": 5,
    "actedTwice": 0,
    "deadLetters": 0,
    "limitPerMinute": 0,
    "fault": "",
    "refused": 0,
    "opened": False,
}
LIMITED = GOOD | {"limitPerMinute": 60, "mostCallsInAnyMinute": 60, "utilisation": 0.9}
DOWN = GOOD | {
    "fault": 503,
    "opened": True,
    "mostCallsInAPause": 1,
    "secondsUntilResumed": 6.0,
}
REFUSING = GOOD | {
    "fault": 401,
    "mostTries": 0,
    "callsInAPause": 0,
    "secondsUntilAllActed": 12.0,
}
ASKING = REFUSING | {"fault": {"status": 429, "retryAfter": 4}, "refused": 9, "opened": True}


def test_any_minute_counts_not_only_those_of_the_clock() -> None:
    assert most_in(60_000, []) == 0
    assert most_in(60_000, [0, 59_000, 60_000, 61_000, 118_999]) == 4
    assert most_in(60_000, [0, 59_999, 60_000]) == 2


def test_only_the_time_counts_in_which_enough_are_on_the_queue() -> None:
    looks = [Look(at, waiting, 3) for at, waiting in ((0, 0), (10, 5), (20, 5), (30, 5), (40, 0))]
    assert waiting_spans(looks, 8) == [(10, 20), (20, 30)]


def test_utilisation_is_the_share_of_the_calls_that_were_allowed_meanwhile() -> None:
    calls_ms = [500, 1_500, 2_500, 90_000]
    assert utilisation(calls_ms, [(0, 2_000), (2_000, 4_000)], 60) == 3 / 4
    assert utilisation(calls_ms, [(10_000, 12_000)], 60) == 0


def test_a_hundredth_of_the_events_waits_longer_than_the_99th_percentile() -> None:
    assert percentile(0.99, range(1_000)) == 990
    assert percentile(0.99, [7]) == 7


@pytest.mark.parametrize(
    ("result", "worse", "said"),
    [
        (GOOD, {"acted": 94}, "none is lost"),
        (GOOD, {"actedTwice": 1}, "none acts twice"),
        (GOOD, {"deadLetters": 1}, "none is a dead letter"),
        (GOOD, {"parked": 6}, "what always fails is given up, and nothing else"),
        (GOOD, {"givenUp": 4}, "what always fails is given up, and nothing else"),
        (GOOD, {"opened": True}, "the breaker stays closed"),
        (LIMITED, {"mostCallsInAnyMinute": 61}, "the limit holds"),
        (LIMITED, {"utilisation": 0.89}, "the limit is used"),
        (DOWN, {"opened": False}, "the breaker opens"),
        (DOWN, {"mostCallsInAPause": 2}, "it is left alone while it is down"),
        (DOWN, {"secondsUntilResumed": 6.1}, "it is called soon after"),
        (REFUSING, {"mostTries": 1}, "no try is spent"),
        (REFUSING, {"opened": True}, "the breaker stays closed"),
        (REFUSING, {"secondsUntilAllActed": 12.1}, "all act soon after"),
        (ASKING, {"callsInAPause": 1}, "it is asked no sooner than it named"),
    ],
)
def test_each_bound_bites(result: dict[str, object], worse: dict[str, object], said: str) -> None:
    assert flaws(result) == []
    assert flaws(result | worse) == [said]
