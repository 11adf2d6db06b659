"""Plays a stream through a stack on which everything goes wrong, and judges what became of it."""

import json
from pathlib import Path
from typing import Any

from once.project import ROOT
from once.run.command import Display, Plan, run
from once.run.report import Report
from proof.chaos.events import Stream
from proof.chaos.verdict import Verdict, judge

CHAOS = ROOT / "once" / "examples" / "chaos.toml"


def destination(stream: Stream, answered: int, hanging: int) -> dict[str, Any]:
    """Fails for what is poison; after so many answers so many calls in a row hang, whoever makes
    them. That opens the breaker, and the last of them are its probes."""
    return {
        "rules": [
            *({"match": {"conversationId": c}, "then": 500} for c in stream.poisoned),
            {"replies": ["ok"] * answered + ["timeout"] * hanging},
        ]
    }


def play(
    stream: Stream,
    folder: Path,
    display: Display,
    *,
    max_tries: int,
    answered: int,
    hanging: int,
) -> tuple[Report, Verdict]:
    """`folder` is for the files of the run."""
    events, beside = folder / "events.jsonl", folder / "events.destination.json"
    events.write_text("".join(f"{line}\n" for line in stream.lines))
    beside.write_text(json.dumps(destination(stream, answered, hanging)))
    # A webhook is sent the whole body, from which it follows what really happened.
    parameters = {"ActionTarget": "webhook", "MaxTries": str(max_tries)}
    report, received = run(Plan(events, parameters=parameters, faults=CHAOS), display)
    return report, judge(stream, report, received.log, max_tries)
