"""A chaos run that is stuck ends, and says why."""

import pytest

from once.run.tracker import Standing
from proof.chaos.play import Guarded, NoProgressError


class Shown:
    def __init__(self) -> None:
        self.settled: list[int] = []

    def step(self, what: str) -> None:
        """Nothing is done here."""

    def progress(self, standing: Standing, total: int) -> None:  # noqa: ARG002
        self.settled.append(standing.settled)


def test_a_run_in_which_nothing_is_settled_any_more_ends_and_says_why() -> None:
    shown, seconds = Shown(), [0.0]
    guarded = Guarded(shown, 60, lambda: seconds[0])
    for settled, at_seconds in ((0, 0.0), (7, 59.0), (7, 119.0)):
        seconds[0] = at_seconds
        guarded.progress(Standing(9, settled, 2), 9)
    assert shown.settled == [0, 7, 7]
    seconds[0] = 119.1
    with pytest.raises(NoProgressError, match=r"7 of 9 lines .* 60 s .* allow fewer tries"):
        guarded.progress(Standing(9, 7, 2), 9)
