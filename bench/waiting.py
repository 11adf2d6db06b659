"""Every scenario of waiting, simulated: hours in seconds, with pacing's own steps.

Run: python -m bench.waiting. Writes bench/results/waiting.json and docs/charts/waiting-*.svg, which
docs/waiting.md shows.
"""

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from typing import Any

from bench import charts, recorded
from bench.numbers import CHARTS
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
    """Samples a run that is drawn."""
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


PICTURES = {
    "limit": ("Ten times a limit of 300 per minute for five minutes", MINUTE, "minutes"),
    "outage": ("Down from minute 5 to 9, ten events per second", MINUTE, "minutes"),
    "hang": ("Hanging from minute 5 to 9, 13 events per second", MINUTE, "minutes"),
    "poison": ("5 % of 6,000 events always fail", HOUR, "hours"),
}


def drawn(name: str, samples: Sequence[Mapping[str, Any]]) -> str:
    title, unit_ms, unit = PICTURES[name]

    def at(sample: Mapping[str, Any]) -> float:
        return float(sample["ms"]) / unit_ms

    def per_minute(field: str) -> list[tuple[float, float]]:
        return [
            (at(b), (b[field] - a[field]) / (b["ms"] - a["ms"]) * MINUTE)
            for a, b in pairwise(samples)
        ]

    return charts.timeline(
        title,
        {
            "messages on the queue": [(at(one), one["waiting"]) for one in samples],
            "acts per minute": per_minute("acted"),
            "requests per minute": per_minute("calls"),
            "functions at once": [(at(one), one["running"]) for one in samples],
        },
        unit,
        [(at(a), at(b)) for a, b in pairwise(samples) if a["open"]],
        "breaker open",
    )


def main() -> int:
    with ProcessPoolExecutor(_WORKERS) as workers:
        found = []
        for one in workers.map(judged, range(len(SCENARIOS))):
            print(("ok    " if not one["broken"] else "BROKEN"), one["group"], "|", one["name"])
            print("      ", one["measured"], *one["broken"], flush=True)
            found.append(one)
        for name, samples in zip(PICTURES, workers.map(pictured, PICTURES), strict=True):
            (CHARTS / f"waiting-{name}.svg").write_text(drawn(name, samples), "utf-8")
    recorded.write("waiting", {"scenarios": found})
    return 1 if any(one["broken"] for one in found) else 0


if __name__ == "__main__":
    sys.exit(main())
