"""Run: python -m bench.compare. Writes bench/results/compare.json."""

import sys

from bench import records
from bench.compare.run import compare

SEEDS = range(10)
# docs/promises.md says both: a request whose response is lost is repeated, and two states within
# 500 ms have no sure order.
ADMITTED = {
    "act's response lost": {judge.TWICE},
    "there and back": {judge.SKIPPED, judge.OLD},
}

Counts = dict[str, Counter[str]]


def play(seed: int) -> dict[str, Counts]:
    """Returns the verdicts by contestant and stream."""
    made = streams(seed)
    verdicts: dict[str, Counts] = {
        rival.letter: {s.name: judge.judge(s, World(rival, s, seed).play()) for s in made}
        for rival in RIVALS
    }
    verdicts[OURS[0]] = {s.name: judge.judge(s, ours.play(s, seed)) for s in made}
    return verdicts


def broken(verdicts: Counts) -> list[str]:
    """Lists the promises that genesys-once did not keep."""
    return [
        f"{stream}: {what}"
        for stream, counts in verdicts.items()
        for what in counts
        if what not in ADMITTED.get(stream, ())
    ]


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
