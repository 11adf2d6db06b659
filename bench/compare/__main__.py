"""Run: python -m bench.compare [--seed N] [--runs N]. Writes bench/results/compare.json.

Copies race, and how a race ends depends on the machine: some runs show how far the counts go apart.
"""

import argparse
import json
import sys
import time

from bench.compare.run import compare
from bench.recorded import write

SEED = 20261118
RUNS = 3


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seed", type=int, default=SEED)
    arguments.add_argument("--runs", type=int, default=RUNS)
    asked = arguments.parse_args()
    began = time.monotonic()

    def show(what: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {what}", flush=True)

    runs = [compare(asked.seed, show) for _ in range(asked.runs)]
    result = runs[-1]
    result["seconds"] = round((time.monotonic() - began) / len(runs))
    result["runs"] = [[one.pop("streams") for one in run["contestants"]] for run in runs]
    write("compare", result)
    excluded = {stream["name"] for stream in result["streams"] if stream["saidOpenly"]}
    promised = {"lost", "acted_twice", "wrongly_skipped"}
    broken = set()
    for *_, ours in result["runs"]:
        for name, verdict in ours.items():
            print(name, json.dumps(verdict))
            if name not in excluded and promised & set(verdict):
                broken.add(name)
    if broken:
        print(f"A promise of ours did not hold: {', '.join(sorted(broken))}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
