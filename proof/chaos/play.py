"""Plays a stream through a stack on which everything goes wrong, and judges what became of it."""

import json
from pathlib import Path

from once.project import ROOT
from once.run.command import Display, Plan, run
from once.run.report import Report
from proof.chaos.events import Stream
from proof.chaos.verdict import Verdict, judge

CHAOS = ROOT / "once" / "examples" / "chaos.toml"


def play(
    stream: Stream, folder: Path, display: Display, *, receives: int = 50
) -> tuple[Report, Verdict]:
    """`folder` is for the files of the run; a message is received `receives` times at most."""
    events, destination = folder / "events.jsonl", folder / "events.destination.json"
    events.write_text("".join(f"{line}\n" for line in stream.lines))
    refusals = [{"match": {"conversationId": c}, "then": 403} for c in stream.shut_out]
    destination.write_text(json.dumps({"rules": refusals}))
    # A webhook is told the whole body, from which it follows what really happened.
    parameters = {"ActionTarget": "webhook", "MaxReceiveCount": str(receives)}
    report, received = run(Plan(events, parameters=parameters, faults=CHAOS), display)
    return report, judge(stream, report, received.log, receives)
