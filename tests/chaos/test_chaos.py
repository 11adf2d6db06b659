"""Three hundred events with every fault on, poison and hanging calls among them: none is lost, none
acts twice, and what always fails is given up.
"""

from dataclasses import asdict
from pathlib import Path

import pytest

from once.outcomes import Outcome
from once.run.tracker import Standing
from proof.chaos.events import chaos_stream
from proof.chaos.play import play

EVENTS = 300
SEED = 14
POISON = 4
# Poison is given up only while others are answered, so few must do for so few events.
MAX_TRIES = 2
# Early, so that most are answered after it, while poison still comes back every few seconds.
ANSWERED, HANGING = 50, 30


class Quiet:
    def step(self, what: str) -> None:
        """Nobody looks."""

    def progress(self, standing: Standing, total: int) -> None:
        """Nobody looks."""


@pytest.mark.embedded
def test_in_chaos_nothing_is_lost_and_nothing_acts_twice(tmp_path: Path) -> None:
    stream = chaos_stream(SEED, EVENTS, poison=POISON)
    report, verdict = play(
        stream, tmp_path, Quiet(), max_tries=MAX_TRIES, answered=ANSWERED, hanging=HANGING
    )
    assert verdict.faultless, asdict(verdict)
    assert report.received == EVENTS
    assert verdict.acted > EVENTS / 2
    assert verdict.parked, "some are cut off, and some are refused"
    given_up = {line.line for line in report.events if line.reason == "GAVE_UP"}
    waiting = {line.line for line in report.events if line.outcome is Outcome.RETRY}
    assert given_up, "while others act, what always fails is given up"
    # Chance may fail another as often, which the judge counts.
    assert given_up | waiting >= set(range(1, POISON + 1)), "those that always fail"
    assert not verdict.dead
    assert verdict.repeated, "some answers were lost, which is the one double there may be"
    assert report.faults is not None
    # Those of the enrichment and of pacing are rare in so few batches.
    assert set(report.faults.happened) >= {
        "data_action.killed",
        "data_action.throttled",
        "destination.answer_lost",
        "destination.failing",
        "destination.hung_up",
        "destination.rate_limited",
        "destination.refused",
        "destination.silent",
        "execution.killed",
        "pipe.delete_lost",
        "pipe.delivered_twice",
        "sending.overtaken",
        "sending.sent_twice",
        "table.answer_lost",
        "table.throttled",
    }
