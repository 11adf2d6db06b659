"""Every expression of the definition on both engines of JSONata, the library that the emulators use
and the reference that AWS names: as walks of the simulator bring them about, and with hostile
values.

Run: python -m bench.jsonata. Needs `make jsonata`. Writes bench/results/jsonata.json; ends with 1
if they differ and no listed reason explains it.
"""

import sys
from collections import Counter

from bench import sources
from proof.asl import differential
from proof.asl.differential import UNLISTED, Recorder
from proof.asl.jsonata import Library, Reference
from proof.asl.machine import Machine
from proof.sim import deployed
from proof.sim.walk import Walk

WALKS = 40
KNOWN = 8_000  # cases of walks
HOSTILE = 60_000


def main() -> int:
    recorder = Recorder()
    machine = Machine(deployed.machine().definition, recorder, draw=lambda: 0.5)
    for seed in range(WALKS):
        Walk(seed, machine).broken_promise()
    cases = list(recorder.cases)
    known = cases[:: len(cases) // KNOWN + 1]
    count, differ = 0, Counter[str]()
    with Reference() as reference:
        library = Library()
        for case in (*known, *differential.mutants(known, HOSTILE, seed=1)):
            count += 1
            reason = differential.difference(case, library, reference)
            if reason:
                differ[reason] += 1
            if reason == UNLISTED:
                print(f"differs: {case}", file=sys.stderr)
    result = {
        "expressions": len({case.expression for case in known}),
        "evaluations": count,
        "differences": dict(differ.most_common()),
    }
    print(result)
    if not differ[UNLISTED]:
        sources.write("jsonata", result)
    return 1 if differ[UNLISTED] else 0


if __name__ == "__main__":
    sys.exit(main())
