"""Thousands of events with every fault on, of which it is known what really happened.

Run: python -m bench.chaos [--events 5000] [--seed 1] (`make chaos`). Writes
bench/results/chaos.json; ends with 1 if an event was lost, acted on twice or given up without a
reason, if an older state followed a newer one, or if a fault of proof/chaos/chaos.toml never
happened. An event that always fails is lost unless it was given up, or waits when all others ended.
"""

import argparse
import sys
import time
from dataclasses import asdict
from typing import Any

from bench import recorded
from once.run.tracker import Standing
from proof.chaos.events import Stream, chaos_stream
from proof.chaos.faults import Faults
from proof.chaos.play import CHAOS, Played, play

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


def result(seed: int, stream: Stream, played: Played) -> dict[str, Any]:
    report, verdict = played.report, played.verdict
    faults = Faults.read(CHAOS)
    said = asdict(verdict)
    return {
        "seed": seed,
        "lines": report.received,
        "happenings": len(set(stream.said)),
        "poison": len(stream.poisoned),
        "givenUp": len(played.faults.given_up),
        "waitingAlone": len(verdict.waiting),
        "hangingCalls": HANGING,
        "maxTries": MAX_TRIES,
        "faults": {
            "seed": faults.seed,
            "chances": dict(faults.chances),
            "happened": played.faults.happened,
        },
        "outcomesOfLines": {str(k): n for k, n in sorted(report.outcomes.items())},
        "requests": sum(action.calls for action in report.actions),
        "acted": verdict.acted,
        "stale": verdict.stale,
        "parked": len(verdict.parked),
        "askedAgainAfterALostAnswer": verdict.repeated,
        "unchangedActed": verdict.unchanged,
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
    return [fault for fault in faults["chances"] if not faults["happened"].get(fault)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    stream = chaos_stream(chosen.seed, chosen.events, poison=POISON)
    played = play(
        stream,
        Progress(),
        max_tries=MAX_TRIES,
        answered=chosen.events // 3,
        hanging=HANGING,
    )
    found = result(chosen.seed, stream, played)
    recorded.write("chaos", found)
    for name in ("acted", "askedAgainAfterALostAnswer", "unchangedActed", "deadLetters", *UNWANTED):
        print(f"{name}: {found[name]}")
    missing = never_happened(found["faults"])
    if missing:
        print(f"never happened: {', '.join(missing)}")
    return 0 if played.verdict.faultless and not missing else 1


if __name__ == "__main__":
    sys.exit(main())
