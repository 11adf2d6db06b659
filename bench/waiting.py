"""Every scenario of waiting, simulated: hours in seconds, with pacing's own steps.

Run: python -m bench.waiting. Writes bench/results/waiting.json, which docs/waiting.md shows.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from bench import recorded
from proof.waiting import destination as to
from proof.waiting.scenarios import SCENARIOS
from proof.waiting.simulation import HOUR, MINUTE, Arrivals, Run, poison

_WORKERS = 2
# What of a sample is drawn, and how many of them.
_POINTS = 120


def judged(number: int) -> dict[str, Any]:
    """One scenario: what it measured, and what did not hold."""
    scenario = SCENARIOS[number]
    found = scenario.judge()
    return {
        "group": scenario.group,
        "name": scenario.name,
        "measured": {
            name: round(value, 3) if isinstance(value, float) else value
            for name, value in found.measured.items()
        },
        "must": list(found.holds),
        "broken": [name for name, held in found.holds.items() if not held],
    }


def pictured(name: str) -> list[dict[str, Any]]:
    """The samples of a run that is drawn."""
    match name:
        case "limit":
            run = Run([Arrivals(50, 5 * MINUTE)], per_minute=300)
            end_ms = HOUR
        case "outage":
            run = Run([Arrivals(10, 20 * MINUTE)], to.down((5 * MINUTE, 9 * MINUTE)))
            end_ms = 20 * MINUTE
        case "hang":
            hang = to.down((5 * MINUTE, 9 * MINUTE), hanging_ms=to.CALL_MS)
            run = Run([Arrivals(13, 20 * MINUTE)], hang)
            end_ms = 20 * MINUTE
        case _:
            mixed = Arrivals(10, 10 * MINUTE, kind=poison(0.05))
            run = Run([mixed, Arrivals(0.4, 9 * HOUR, from_ms=10 * MINUTE)])
            end_ms = 9 * HOUR
    run.sample_ms = end_ms // _POINTS
    return run.until(end_ms).samples


PICTURES = ("limit", "outage", "hang", "poison")


def main() -> int:
    with ProcessPoolExecutor(_WORKERS) as workers:
        found = []
        for one in workers.map(judged, range(len(SCENARIOS))):
            print(("ok    " if not one["broken"] else "BROKEN"), one["group"], "|", one["name"])
            print("      ", one["measured"], *one["broken"], flush=True)
            found.append(one)
        pictures = dict(zip(PICTURES, workers.map(pictured, PICTURES), strict=True))
    recorded.write("waiting", {"scenarios": found, "pictures": pictures})
    return 1 if any(one["broken"] for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
