"""Records what the simulator was put through: walks, the search, mutants, hours of an outage.

Run: python -m bench.simulator [WALKS] [EVENTS] (2,000 and 100,000: some hours of processor time).
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


def main(walks: int = 2_000, events: int = 100_000) -> int:
    machine = deployed.machine()
    faults: Counter[str] = Counter()
    moves = broken = 0
    for seed in range(walks):
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
    per_second, outage_hours = 200, 1
    hours = run(machine, events, per_second, outage_hours)
    hours |= {"perSecond": per_second, "outageHours": outage_hours}
    result = {
        "walks": {"count": walks, "moves": moves, "broken": broken, "faults": dict(faults)},
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
        "hours": hours,
    }
    sources.write("simulator", result)
    return 1 if broken or hours["lost"] or result["search"]["broken"] else 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:3])))
