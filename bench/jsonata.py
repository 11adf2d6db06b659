"""Compares both engines of JSONata, the library that the emulators use and the reference that AWS
names, on every expression of the definition: as walks bring them about, and with hostile values.

Run: python -m bench.jsonata. Needs `make jsonata`. Writes bench/results/jsonata.json; ends with 1
if they differ without a listed reason.
"""

import sys
import time
from collections import Counter

from bench import records
from proof.asl import differential
from proof.asl.differential import UNLISTED, Case, Recorder
from proof.asl.jsonata import Library, Reference
from proof.sim import deployed
from proof.sim.walk import played

MUTANTS = 120_000
WALKS = 40
SEED = 1


def walked(walks: int) -> list[Case]:
    """Returns each evaluation of some walks, once."""
    recorder, engine = Recorder(), deployed.EXPRESSIONS.engine
    deployed.EXPRESSIONS.engine = recorder
    try:
        for seed in range(walks):
            played(seed, deployed.machine(), deployed.functions)
    finally:
        deployed.EXPRESSIONS.engine = engine
    return list(recorder.cases)


def main() -> int:
    known = walked(WALKS)
    expressions = {case.expression for case in known}
    began, count, differ = time.monotonic(), 0, Counter[str]()
    with Reference() as reference:
        library = Library()
        for cases in (known, differential.mutants(known, MUTANTS, SEED)):
            for case in cases:
                count += 1
                reason = differential.difference(case, library, reference)
                if reason:
                    differ[reason] += 1
                if reason == UNLISTED:
                    print(f"differs: {case}", file=sys.stderr)
    result = {
        "seed": SEED,
        "expressions": len(expressions),
        "evaluations": count,
        "walked": len(known),
        "differences": dict(differ.most_common()),
        "seconds": round(time.monotonic() - began, 1),
    }
    records.write("jsonata", result)
    print(f"{count:,} evaluations, {differ.total()} differ, {differ[UNLISTED]} of them unexplained")
    return 1 if differ[UNLISTED] else 0


if __name__ == "__main__":
    sys.exit(main())
