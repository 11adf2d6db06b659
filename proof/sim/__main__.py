"""Plays the deployed machine and functions: `python -m proof.sim --help` says how."""

import argparse
import sys
import time
from collections import Counter

from proof.sim import deployed, mutants
from proof.sim.cases import CASES
from proof.sim.hours import run
from proof.sim.search import search, shown
from proof.sim.walk import FORCED, Walk


def main() -> int:
    parser = argparse.ArgumentParser("python -m proof.sim", description=__doc__)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--seed", type=int, help="one walk, with its trace")
    what.add_argument("--walks", type=int, help="so many walks, from --first")
    what.add_argument("--search", type=int, metavar="STATES", help="each small world, so far")
    what.add_argument("--mutants", nargs="*", metavar="NAME", help="broken definitions and cores")
    what.add_argument("--hours", type=float, metavar="OUTAGE", help="a load, with an outage")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--long", action="store_true", help="walks of days")
    parser.add_argument("--forced", choices=sorted({*FORCED} - {""}), default="")
    parser.add_argument("--events", type=int, default=10_000, help="so many, with --hours")
    options = parser.parse_args()
    if options.seed is not None:
        return _tell(options)
    if options.walks is not None:
        return _walk(options)
    if options.search is not None:
        return _search(options.search)
    if options.hours is not None:
        report = run(deployed.machine(), options.events, outage_hours=options.hours)
        print(*(f"{name}: {value}" for name, value in report.items()), sep="\n")
        return 0
    return min(1, mutants.main(options.mutants))


def _tell(options: argparse.Namespace) -> int:
    walk = Walk(options.seed, deployed.machine(), long=options.long, forced=options.forced)
    walk.world.told = told = list[str]()
    broken = walk.broken_promise()
    print(*told, sep="\n")
    print(f"seed {options.seed}: {broken or 'all promises hold'}")
    print(f"{walk.kinds}, {dict(walk.spans)}, rates of faults {walk.rates}")
    return bool(broken)


def _walk(options: argparse.Namespace) -> int:
    began, moves, broken_walks = time.process_time(), 0, 0
    machine = deployed.machine()
    faults, outcomes = Counter[str](), Counter[str]()
    for seed in range(options.first, options.first + options.walks):
        forced = options.forced or ("" if options.long else FORCED[seed % len(FORCED)])
        walk = Walk(seed, machine, long=options.long, forced=forced)
        broken = walk.broken_promise()
        moves += walk.moves
        faults.update(walk.world.happened)
        outcomes.update(f"{o} {reason}" for _, o, reason in walk.world.promises.outcomes)
        if broken:
            broken_walks += 1
            rest = f" --forced {forced}" if forced else ""
            print(f"{broken}\n  python -m proof.sim --seed {seed}{rest}", flush=True)
    seconds = time.process_time() - began
    print(f"{options.walks} walks, {moves} moves, {broken_walks} broken, {seconds:.0f} s")
    print(f"{sum(faults.values())} faults: {dict(faults.most_common())}")
    print(f"outcomes: {dict(outcomes.most_common())}")
    return min(1, broken_walks)


def _search(states: int) -> int:
    broken_worlds = 0
    for case in CASES:
        result = search(case, deployed.machine(), states)
        ended = "all" if result.is_complete else "the first"
        said = result.broken or f"{ended} {result.states} states hold"
        print(f"{case.name}: {said} ({result.seconds} s)", flush=True)
        if result.broken:
            broken_worlds += 1
            print(*shown(case, deployed.machine(), result.trace), sep="\n")
    return min(1, broken_worlds)


sys.exit(main())
