"""Sends copies 1 to 50 ms after their first, while it is in progress, and counts how many are
settled in that delivery and how many return to the queue.

Run: python -m bench.copies. Writes bench/results/copies.json.
"""

import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from bench import recorded
from bench.cost import messages, mixed_events
from once.local.pipe import Batch, PipeRunner
from once.run.local import local_stack

PAIRS = 150
AT_ONCE = 5  # pairs, that is twice as many batches
APART_MS = (1, 50)
ANSWERS_MS = (200, 2_000)
AT_LEAST = 0.99


def meets(pipe: PipeRunner, bodies: Sequence[str], chance: random.Random) -> list[list[Batch]]:
    """Each body and its copy as batches of one, the copy a little later."""
    with ThreadPoolExecutor(2 * AT_ONCE) as batches, ThreadPoolExecutor(AT_ONCE) as pairs:

        def pair(body: str) -> list[Future[Batch]]:
            first = batches.submit(pipe.run_batch, messages([body]))
            time.sleep(chance.uniform(*APART_MS) / 1000)
            copy = batches.submit(pipe.run_batch, messages([body]))
            both = [first, copy]
            for one in both:
                one.result()
            return both

        return [[one.result() for one in both] for both in pairs.map(pair, bodies)]


def judged(both: Sequence[Sequence[Batch]], answers_ms: int) -> dict[str, Any]:
    settled = [all(len(one.deleted) == 1 for one in pair) for pair in both]
    slower = [max(one.seconds for one in pair) for pair in both]
    return {
        "answersMs": answers_ms,
        "pairs": len(both),
        "handedBack": settled.count(False),
        "settled": round(settled.count(True) / len(both), 4),
        "secondsMedian": round(statistics.median(slower), 2),
        "secondsLongest": round(max(slower), 2),
    }


def main() -> int:
    chance = random.Random(1)  # noqa: S311
    bodies = iter(mixed_events(PAIRS * len(ANSWERS_MS)))
    runs = []
    with local_stack({"Timing": "production"}) as local:
        stack, destination = local.stack, local.destination
        stack.pipe.stop()
        pipe = PipeRunner(stack.client, stack.outputs["PipeName"])
        for answers_ms in ANSWERS_MS:
            destination.script.add({"then": {"status": 200, "delayMs": answers_ms}})
            some = [next(bodies) for _ in range(PAIRS)]
            runs.append(judged(meets(pipe, some, chance), answers_ms))
            print(json.dumps(runs[-1]), flush=True)
            destination.script.rules.clear()
        acts = sum(record.effects for record in destination.keys.values())
    result = {"apartMs": APART_MS, "atLeast": AT_LEAST, "acts": acts, "runs": runs}
    return recorded.write_if_it_holds("copies", result, broken_bounds(result))


def broken_bounds(result: dict[str, Any]) -> list[str]:
    events = sum(run["pairs"] for run in result["runs"])
    broken = [f"{result['acts']} acts for {events} events"] if result["acts"] != events else []
    return broken + [
        f"{run['settled']:.1%} settled at once where the destination takes {run['answersMs']} ms"
        for run in result["runs"]
        if run["settled"] < AT_LEAST
    ]


if __name__ == "__main__":
    sys.exit(main())
