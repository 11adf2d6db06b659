"""Thousands of events with every fault on, of which it is known what really happened.

Run: python -m bench.chaos [--events 5000] [--seed 1] (`make chaos`). Writes
bench/results/chaos.json; ends with 1 if an event was lost, doubled or given up without a reason,
if one that always fails was neither given up nor left alone, or if a fault of
once/examples/chaos.toml never happened.
"""

import argparse
import sys
import tempfile
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import recorded
from once.faults import Faults
from once.run.report import Report
from once.run.tracker import Standing
from proof.chaos.events import Stream, chaos_stream
from proof.chaos.play import CHAOS, play
from proof.chaos.verdict import Verdict

POISON = 3
# In a row: enough to open the breaker, with a few left to be its probes, whose pauses grow.
HANGING = 30
# So few that poison is given up while others still act; so many that no other event is.
MAX_TRIES = 5
UNWANTED = ("lost", "actedTwice", "staleOverNewer", "withoutAReason")
_TELL_SECONDS = 10


class Progress:
    def __init__(self) -> None:
        self._said_at = 0.0

    def step(self, what: str) -> None:
        print(what, flush=True)

    def progress(self, standing: Standing, total: int) -> None:
        if time.monotonic() - self._said_at > _TELL_SECONDS:
            self._said_at = time.monotonic()
            print(f"  {standing.settled} of {total} settled", flush=True)


def result(seed: int, stream: Stream, report: Report, verdict: Verdict) -> dict[str, Any]:
    faults = Faults.read(CHAOS)
    said = asdict(verdict)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "seed": seed,
        "lines": report.received,
        "happenings": len(set(stream.said)),
        "poison": len(stream.poisoned),
        "givenUp": sum(line.reason == "GAVE_UP" for line in report.events),
        "waitingAlone": len(verdict.waiting),
        "hangingCalls": HANGING,
        "maxTries": MAX_TRIES,
        "faults": {
            "seed": faults.seed,
            "chances": faults.model_dump(exclude={"seed"}),
            "happened": report.faults.happened if report.faults else {},
        },
        "outcomesOfLines": {str(k): n for k, n in sorted(report.outcomes.items())},
        "requests": sum(action.calls for action in report.actions),
        "acted": verdict.acted,
        "stale": verdict.stale,
        "parked": len(verdict.parked),
        "askedAgainAfterALostAnswer": verdict.repeated,
        "deadLetters": verdict.dead,
        "lost": said["lost"],
        "actedTwice": said["acted_twice"],
        "staleOverNewer": said["stale_over_newer"],
        "withoutAReason": {
            "stale": said["stale_for_nothing"],
            "parked": said["parked_for_nothing"],
            "dead": said["dead_for_nothing"],
        },
        "seconds": report.seconds,
    }


def never_happened(faults: dict[str, Any]) -> list[str]:
    named = [f"{section}.{name}" for section, names in faults["chances"].items() for name in names]
    return [fault for fault in named if not faults["happened"].get(fault)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    stream = chaos_stream(chosen.seed, chosen.events, poison=POISON)
    with tempfile.TemporaryDirectory() as folder:
        report, verdict = play(
            stream,
            Path(folder),
            Progress(),
            max_tries=MAX_TRIES,
            answered=chosen.events // 3,
            hanging=HANGING,
        )
    found = result(chosen.seed, stream, report, verdict)
    recorded.write("chaos", found)
    for name in ("acted", "askedAgainAfterALostAnswer", "deadLetters", *UNWANTED):
        print(f"{name}: {found[name]}")
    missing = never_happened(found["faults"])
    if missing:
        print(f"never happened: {', '.join(missing)}")
    settled = found["givenUp"] + found["waitingAlone"] >= POISON
    return 0 if verdict.faultless and not missing and settled else 1


if __name__ == "__main__":
    sys.exit(main())
