"""Three hundred events with every fault on: none is lost, and none acts twice.

`make chaos` plays five thousand, and beside them events that always fail and an outage of hanging
requests, which take minutes until they are given up and over.
"""

from dataclasses import asdict

import pytest

from once.run.tracker import Standing
from proof.chaos.events import chaos_stream
from proof.chaos.play import play

EVENTS = 300
SEED = 14
MAX_TRIES = 5


class Quiet:
    def step(self, what: str) -> None:
        """Nobody looks."""

    def progress(self, standing: Standing, total: int) -> None:
        """Nobody looks."""


@pytest.mark.local
def test_in_chaos_nothing_is_lost_and_nothing_acts_twice() -> None:
    stream = chaos_stream(SEED, EVENTS, poison=0)
    played = play(stream, Quiet(), max_tries=MAX_TRIES, answered=0, hanging=0)
    report, verdict = played.report, played.verdict
    assert verdict.faultless, asdict(verdict)
    assert report.received == EVENTS
    assert verdict.acted > EVENTS / 2
    assert verdict.parked, "some are cut off, and some are refused"
    assert not verdict.dead
    assert verdict.repeated, "some answers were lost, which is the one double there may be"
    # Those of the enrichment, of pacing and of an execution are rare in so few batches.
    assert set(played.faults.happened) >= {
        "data_action.killed",
        "data_action.throttled",
        "destination.answer_lost",
        "destination.failing",
        "destination.hung_up",
        "destination.rate_limited",
        "destination.refused",
        "destination.silent",
        "pipe.delete_lost",
        "pipe.delivered_twice",
        "sending.overtaken",
        "sending.sent_twice",
        "table.answer_lost",
        "table.throttled",
    }


@pytest.mark.local
def test_in_chaos_each_event_is_put_on_a_bus_once_unless_a_response_was_lost() -> None:
    stream = chaos_stream(SEED, EVENTS, poison=0)
    played = play(stream, Quiet(), max_tries=MAX_TRIES, answered=0, hanging=0, target="eventbridge")
    verdict = played.verdict
    assert verdict.acted > EVENTS / 2
    wrong = (verdict.lost, verdict.dead, verdict.stale_for_nothing, verdict.parked_for_nothing)
    assert not any(wrong), asdict(verdict)
    # What is put again has the same key. Which events are one is the webhook's run to judge. On a
    # busy machine PutEvents may also answer later than the function waits.
    unexplained = [act for act in played.faults.repeated_acts if not act.because]
    assert len(unexplained) <= EVENTS // 100, unexplained
    assert {"data_action.killed", "table.answer_lost"} <= set(played.faults.happened)
