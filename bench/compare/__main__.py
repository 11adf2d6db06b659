"""Run: python -m bench.compare [--seed N]. Writes bench/results/compare.json."""

import argparse
import json
import sys
import time

from bench.compare.run import compare
from bench.recorded import write

SEED = 20261118


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--seed", type=int, default=SEED)
    began = time.monotonic()

    def show(what: str) -> None:
        print(f"{time.monotonic() - began:5.0f} s  {what}", flush=True)

    result = compare(arguments.parse_args().seed, show)
    result["seconds"] = round(time.monotonic() - began)
    write("compare", result)
    ours = result["contestants"][-1]["streams"]
    excluded = {stream["name"] for stream in result["streams"] if stream["saidOpenly"]}
    for name, verdict in ours.items():
        print(name, json.dumps({k: v for k, v in verdict.items() if v}))
    promised = ("lost", "acted_twice", "wrongly_skipped")
    broken = [n for n, v in ours.items() if n not in excluded and any(v[p] for p in promised)]
    if broken:
        print(f"A promise of ours did not hold: {', '.join(broken)}", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
