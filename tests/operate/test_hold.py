"""How long a hold may last, and what resuming says; the rest is tried on a stack that runs."""

import pytest

from once.errors import OnceError
from once.operate.hold import Resumed, _view, seconds_of


@pytest.mark.parametrize(
    ("said", "seconds"), [("90s", 90), ("30m", 1_800), ("2h", 7_200), ("11h", 39_600)]
)
def test_a_time_to_hold_calls_for(said: str, seconds: int) -> None:
    assert seconds_of(said) == seconds


@pytest.mark.parametrize("said", ["", "0m", "30", "m", "12h", "1d", "-5m"])
def test_a_time_that_is_none_or_too_long_is_refused_with_an_example(said: str) -> None:
    with pytest.raises(OnceError, match="30m or 2h, 11h at most"):
        seconds_of(said)


def test_resuming_says_until_when_what_was_handed_back_stays_away() -> None:
    resumed = Resumed(pipe="RUNNING", was_held="repairs", waits_until_ms=1_795_000_000_000)
    assert "No longer held: repairs" in list(_view(resumed))
    assert "until shortly after 11:06:40 UTC" in list(_view(resumed))[-1]
    quiet = Resumed(pipe="RUNNING", was_held=None, waits_until_ms=None)
    assert list(_view(quiet)) == ["Calls flow; the pipe is RUNNING."]
