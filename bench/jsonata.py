"""Every expression of the definition on both engines of JSONata, the library that the emulators use
and the reference that AWS names: as scenarios and the explorer bring them about, and with hostile
values.

Run: python -m bench.jsonata. Needs `make jsonata`. Writes bench/results/jsonata.json; ends with 1
if they differ and nobody says why.
"""

import sys
import time
from collections import Counter

from bench import records
from proof.asl import differential
from proof.asl.differential import UNLISTED
from proof.asl.jsonata import Library, Reference

MUTANTS = 120_000
# Of the explorer: walks through each of its scenarios, and evaluations of each expression.
WALKS, MOST_EXPLORED = 40, 1_000
SEED = 1


def main() -> int:
    recorded_cases = differential.recorded()
    explored = differential.explored(MOST_EXPLORED, WALKS, SEED)
    known = [*recorded_cases, *explored]
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
        "recorded": len(recorded_cases),
        "explored": len(explored),
        "differences": dict(differ.most_common()),
        "seconds": round(time.monotonic() - began, 1),
    }
    records.write("jsonata", result)
    print(f"{count:,} evaluations, {differ.total()} differ, {differ[UNLISTED]} of them unexplained")
    return 1 if differ[UNLISTED] else 0


if __name__ == "__main__":
    sys.exit(main())
