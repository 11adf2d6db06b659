"""Records what the simulator was put through: walks, the search and mutants, or an outage.

Run: python -m bench.simulator walks [COUNT] (2,000: half an hour of processor time), or
python -m bench.simulator outage [EVENTS] (100,000: two hours).
"""

import sys
from collections import Counter

from bench import sources
from proof.sim import deployed
from proof.sim.cases import CASES
from proof.sim.hours import run
from proof.sim.mutants import MUTANTS, changed_module, machine_with, noticed
from proof.sim.search import search
from proof.sim.walk import FORCED, Walk

STATES = 8_000


def record_walks(count: int = 2_000) -> bool:
    machine = deployed.machine()
    faults: Counter[str] = Counter()
    moves = broken = 0
    for seed in range(count):
        forced = FORCED[seed % len(FORCED)]
        walk = Walk(seed, machine, forced=forced, long=seed % 20 == 19)
        broken += bool(walk.broken_promise())
        faults.update(walk.world.happened)
        moves += walk.moves
    searched = [search(case, machine, STATES) for case in CASES]
    found = 0
    for mutant in MUTANTS:
        with changed_module(mutant):
            found += bool(mutant.found_by and noticed(mutant.found_by, machine_with(mutant)))
    result = {
        "walks": {"count": count, "moves": moves, "broken": broken, "faults": dict(faults)},
        "search": {
            "cases": len(CASES),
            "states": sum(result.states for result in searched),
            "broken": [result.broken for result in searched if result.broken],
        },
        "mutants": {
            "count": len(MUTANTS),
            "noticed": found,
            "equivalent": sum(bool(mutant.equivalent) for mutant in MUTANTS),
        },
    }
    sources.write("simulator", result)
    return not broken and not result["search"]["broken"]


def record_outage(events: int = 100_000) -> bool:
    per_second, outage_hours = 200, 1
    result = run(deployed.machine(), events, per_second, outage_hours)
    result |= {"perSecond": per_second, "outageHours": outage_hours}
    sources.write("outage", result)
    return not result["lost"]


if __name__ == "__main__":
    record = {"walks": record_walks, "outage": record_outage}[sys.argv[1]]
    sys.exit(0 if record(*map(int, sys.argv[2:3])) else 1)
