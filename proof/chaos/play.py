"""Plays a stream through a stack on which everything goes wrong, and judges what became of it."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from once.project import ROOT
from once.run.command import Display, Plan, run
from once.run.report import Report
from once.run.tracker import Standing
from proof.chaos.events import Stream
from proof.chaos.verdict import Verdict, judge

CHAOS = ROOT / "once" / "examples" / "chaos.toml"
# No return time is longer: half an hour and half of it again, and with Timing=fast a tenth.
PATIENCE_SECONDS = 300


def destination(stream: Stream, answered: int, hanging: int) -> dict[str, Any]:
    """Fails for what is poison; after so many answers so many calls in a row hang, whoever makes
    them. That opens the breaker, and the last of them are its probes."""
    return {
        "rules": [
            *({"match": {"conversationId": c}, "then": 500} for c in stream.poisoned),
            {"replies": ["ok"] * answered + ["timeout"] * hanging},
        ]
    }


class NoProgressError(Exception):
    """Nothing was settled for so long that nothing will be."""


class Guarded:
    """A display that ends a run in which nothing is settled any more."""

    def __init__(
        self,
        display: Display,
        patience_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._display, self._patience_seconds, self._clock = display, patience_seconds, clock
        self._settled, self._moved_at = -1, 0.0

    def step(self, what: str) -> None:
        self._display.step(what)

    def progress(self, standing: Standing, total: int) -> None:
        self._display.progress(standing, total)
        if standing.settled != self._settled:
            self._settled, self._moved_at = standing.settled, self._clock()
        elif self._clock() - self._moved_at > self._patience_seconds:
            raise NoProgressError(
                f"{standing.settled} of {total} lines are settled, and for "
                f"{self._patience_seconds:.0f} s no other was. An event that always fails is given "
                "up only after others were answered: if only such events are left, send more "
                "lines or allow fewer tries."
            )


def play(
    stream: Stream,
    folder: Path,
    display: Display,
    *,
    max_tries: int,
    answered: int,
    hanging: int,
) -> tuple[Report, Verdict]:
    """`folder` is for the files of the run, which ends with NoProgressError where it is stuck."""
    events, beside = folder / "events.jsonl", folder / "events.destination.json"
    events.write_text("".join(f"{line}\n" for line in stream.lines))
    beside.write_text(json.dumps(destination(stream, answered, hanging)))
    # A webhook is sent the whole body, from which it follows what really happened.
    parameters = {"ActionTarget": "webhook", "MaxTries": str(max_tries)}
    guarded = Guarded(display, PATIENCE_SECONDS)
    report, received = run(Plan(events, parameters=parameters, faults=CHAOS), guarded)
    return report, judge(stream, report, received.log, max_tries)
