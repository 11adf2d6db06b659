"""The interleavings of the claims, as far as half an hour goes, the mutants that must not pass, and
random walks that the emulator must agree with.

Run: python -m bench.explore (`make explore`). Writes bench/results/explorer.json, and to
.once/explorer.json each scenario and the shortest way to what each mutant breaks; ends with 1 if a
promise is broken, a mutant is not caught, or the emulator does otherwise.
"""

import gc
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from bench import recorded, sources
from proof.definition.asl import definition
from proof.explorer.mutant_list import IMPLIED, MUTANTS
from proof.explorer.replay import replay, world_of
from proof.explorer.scenario import WITHOUT_END
from proof.explorer.scenarios import FULL
from proof.explorer.search import Found, explore
from proof.explorer.tasks import machine_of
from proof.explorer.world import World
from proof.scenarios.emulator_machine import started

# Of one scenario; whether it was walked through to the end is recorded.
MOST_STATES = 400_000
WALKS = 200
DETAIL = sources.ROOT / ".once" / "explorer.json"


def walked_through(number: int) -> dict[str, Any]:
    scenario = FULL[number]
    machine = machine_of(definition(scenario.filled_in()), scenario)
    return {
        "name": scenario.name,
        "kindsOfFaults": sorted(fault.name for fault in scenario.kinds),
        "faultsAtMost": None if scenario.faults == WITHOUT_END else scenario.faults,
        "deliveriesOfEach": scenario.deliveries,
        "tickSeconds": scenario.tick_seconds,
        **_said(explore(World(machine, scenario), MOST_STATES)),
    }


def broken_on_purpose(number: int) -> dict[str, Any]:
    mutant = MUTANTS[number]
    implied = {"implied": IMPLIED[mutant.name]} if mutant.name in IMPLIED else {}
    return {"name": mutant.name, **implied, **_said(mutant.explored())}


def _said(found: Found) -> dict[str, Any]:
    said = {
        "states": found.states,
        "moves": found.moves,
        "depth": found.depth,
        "seconds": found.seconds,
        "complete": found.complete,
    }
    return said | ({"broken": str(found).splitlines()} if found.broken else {})


def walks() -> dict[str, Any]:
    began, moves, disagreements = time.monotonic(), 0, []
    with started() as machine:
        for seed in range(WALKS):
            try:
                moves += replay(world_of(seed), seed, machine)
            except AssertionError as error:
                disagreements.append({"seed": seed, "said": str(error).splitlines()})
    seconds = round(time.monotonic() - began, 1)
    return {"walks": WALKS, "moves": moves, "disagreements": disagreements, "seconds": seconds}


def main() -> int:
    # What is imported stays, and need not be looked through again with every million of states.
    gc.freeze()
    led = walks()
    print(f"{led['walks']} walks led, {len(led['disagreements'])} disagreements", flush=True)
    seen: list[dict[str, Any]] = []
    # Forked, they have what is imported; by number, since a mutant cannot be sent.
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("fork")) as pool:
        bitten = list(pool.map(broken_on_purpose, range(len(MUTANTS))))
        missed = [one["name"] for one in bitten if ("broken" in one) == ("implied" in one)]
        print(
            f"{len(bitten)} mutants, of which {len(IMPLIED)} are implied; missed: {missed}",
            flush=True,
        )
        for one in pool.map(walked_through, range(len(FULL))):
            seen.append(one)
            print(
                f"{one['states']:9,} states in {one['seconds']:6.1f} s: {one['name']}", flush=True
            )
    DETAIL.parent.mkdir(exist_ok=True)
    DETAIL.write_text(json.dumps({"scenarios": seen, "mutants": bitten}, indent=2), "utf-8")
    found = result(seen, bitten, missed, led)
    recorded.write("explorer", found)
    print(f"{found['states']:,} states; broken promises: {found['broken']}")
    wrong = found["broken"] or missed or led["disagreements"]
    return 1 if wrong else 0


def result(
    seen: list[dict[str, Any]],
    bitten: list[dict[str, Any]],
    missed: list[str],
    led: dict[str, Any],
) -> dict[str, Any]:
    return {
        "states": sum(one["states"] for one in seen),
        "moves": sum(one["moves"] for one in seen),
        "broken": [one["name"] for one in seen if "broken" in one],
        "scenarios": len(seen),
        "cutShort": [one["states"] for one in seen if not one["complete"]],
        "mutants": len(bitten),
        "mutantsCaught": sum("broken" in one for one in bitten),
        "mutantsImplied": len(IMPLIED),
        "mutantsMissed": missed,
        "walks": led,
    }


if __name__ == "__main__":
    sys.exit(main())
