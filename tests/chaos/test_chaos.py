"""Three hundred events with every fault on: none is lost, none acts twice."""

from dataclasses import asdict
from pathlib import Path

import pytest

from once.embedded.stack import project_template
from once.report import Report
from once.run import Plan, run
from once.tracker import Standing
from tests.chaos.events import Stream, chaos_stream
from tests.chaos.verdict import Verdict, judge

CHAOS = project_template().parent / "once" / "examples" / "chaos.toml"
EVENTS = 300
SEED = 4


class Quiet:
    def step(self, what: str) -> None:
        """Nobody looks."""

    def progress(self, standing: Standing, total: int) -> None:
        """Nobody looks."""


def chaos(folder: Path, stream: Stream, **parameters: str) -> tuple[Report, Verdict]:
    events = folder / "events.jsonl"
    events.write_text("".join(f"{line}\n" for line in stream.lines))
    # A webhook is told the whole body, from which it follows what really happened.
    plan = Plan(events, parameters={"ActionTarget": "webhook", **parameters}, faults=CHAOS)
    report, destination = run(plan, Quiet())
    return report, judge(stream, report, destination.log)


@pytest.mark.embedded
def test_in_chaos_nothing_is_lost_and_nothing_acts_twice(tmp_path: Path) -> None:
    report, verdict = chaos(tmp_path, chaos_stream(SEED, EVENTS))
    assert verdict.faultless, asdict(verdict)
    assert report.settled
    assert report.received == EVENTS
    assert verdict.acted > EVENTS / 2
    assert verdict.parked, "some are cut off, and some are refused"
    assert verdict.repeated, "some answers were lost, which is the one double there may be"
    assert report.faults is not None
    assert set(report.faults.happened) >= {
        "data_action.killed",
        "data_action.throttled",
        "execution.killed",
        "pipe.delete_lost",
        "pipe.delivered_twice",
        "sending.overtaken",
        "sending.sent_twice",
        "table.answer_lost",
        "table.throttled",
    }
