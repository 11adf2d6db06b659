"""Three hundred events with every fault on: none is lost, none acts twice."""

from dataclasses import asdict
from pathlib import Path

import pytest

from once.run.tracker import Standing
from proof.chaos.events import chaos_stream
from proof.chaos.play import play

EVENTS = 300
SEED = 4


class Quiet:
    def step(self, what: str) -> None:
        """Nobody looks."""

    def progress(self, standing: Standing, total: int) -> None:
        """Nobody looks."""


@pytest.mark.embedded
def test_in_chaos_nothing_is_lost_and_nothing_acts_twice(tmp_path: Path) -> None:
    report, verdict = play(chaos_stream(SEED, EVENTS), tmp_path, Quiet())
    assert verdict.faultless, asdict(verdict)
    assert report.settled
    assert report.received == EVENTS
    assert verdict.acted > EVENTS / 2
    assert verdict.parked, "some are cut off, and some are refused"
    assert verdict.repeated, "some answers were lost, which is the one double there may be"
    assert report.faults is not None
    # The two of the enrichment are rare in so few batches.
    assert set(report.faults.happened) >= {
        "data_action.killed",
        "data_action.throttled",
        "destination.answer_lost",
        "destination.failing",
        "destination.hung_up",
        "destination.rate_limited",
        "destination.refused",
        "execution.killed",
        "pipe.delete_lost",
        "pipe.delivered_twice",
        "sending.overtaken",
        "sending.sent_twice",
        "table.answer_lost",
        "table.throttled",
    }
