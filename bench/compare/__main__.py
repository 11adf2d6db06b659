"""Run: python -m bench.compare. Writes bench/results/compare.json."""

import sys

from bench import records
from bench.compare.run import compare

SEED = 20261118
RUNS = 3


def main() -> int:
    runs = [compare(SEED + number) for number in range(RUNS)]
    result = {name: value for name, value in runs[0].items() if name != "contestants"}
    result["contestants"] = [
        {"letter": c["letter"], "title": c["title"], "storeCalls": c["storeCalls"]}
        for c in runs[0]["contestants"]
    ]
    result["runs"] = [[c["streams"] for c in run["contestants"]] for run in runs]
    records.write("compare", result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
