"""How long a full queue takes to drain, from 100 to 5,000 events: it shows that the time grows with
the events and no faster. How fast it is here says nothing of AWS.

Run: python -m bench.scale. Writes bench/results/scale.json.
"""

import json
import statistics
import sys
import time
from typing import Any

from bench import recorded
from bench.events import START_MS, Centre, text
from bench.stack import drain, send
from once.embedded.pipe import PipeRunner
from once.embedded.stack import EmbeddedStack
from once.genesys.server import GenesysServer
from once.run.command import destination_parameters

EVENTS = (100, 500, 1_000, 2_000, 5_000)
WARM_UP = 40
CONCURRENCY = 12
LEAST_R_SQUARED = 0.98
SLOWEST_A_SECOND = 5  # on a machine that is busy with other work


def drained_in(stack: EmbeddedStack, bodies: list[str]) -> float:
    """Seconds from the first batch taken to the last message deleted."""
    sqs, url = stack.client("sqs"), stack.outputs["EventQueueUrl"]
    send(sqs, url, bodies)
    started = time.monotonic()
    with PipeRunner(stack.client, stack.outputs["PipeName"], concurrency=CONCURRENCY):
        drain(sqs, url, seconds=60 + len(bodies) / SLOWEST_A_SECOND)
        return time.monotonic() - started


def main() -> int:
    centre = Centre(1)

    def events(number: int) -> list[str]:
        made = (centre.conversation("acd.end", START_MS + at) for at in range(number))
        return [text(event) for event in made]

    with (
        GenesysServer() as destination,
        EmbeddedStack.start(lambda aws: destination_parameters(aws, destination)) as stack,
    ):
        stack.pipe.stop()
        drained_in(stack, events(WARM_UP))
        points = []
        for number in EVENTS:
            try:
                seconds = drained_in(stack, events(number))
            except TimeoutError as error:
                print(f"{number} events were not counted: {error}", file=sys.stderr)
                break
            points.append({"events": number, "seconds": round(seconds, 2)})
            print(f"{number:5} events in {seconds:6.1f} s", flush=True)
        acts = sum(record.effects for record in destination.keys.values())
    if len(points) < 3:
        print("Too few points for a line: nothing is recorded.", file=sys.stderr)
        return 1
    sizes = [point["events"] for point in points]
    taken = [point["seconds"] for point in points]
    slope, _ = statistics.linear_regression(sizes, taken)
    result = {
        "points": points,
        "eventsPerSecond": round(1 / slope, 1),
        "rSquared": round(statistics.correlation(sizes, taken) ** 2, 4),
        "atLeast": LEAST_R_SQUARED,
        "acts": acts,
    }
    print(json.dumps(result, indent=2))
    return recorded.write_if_it_holds("scale", result, broken_bounds(result))


def broken_bounds(result: dict[str, Any]) -> list[str]:
    drained = [point["events"] for point in result["points"]]
    held = {
        f"{result['acts']} of {sum(drained) + WARM_UP} events acted": result["acts"]
        == sum(drained) + WARM_UP,
        f"{len(drained)} of {len(EVENTS)} sizes were counted": drained == list(EVENTS),
        f"R² is {result['rSquared']}": result["rSquared"] >= LEAST_R_SQUARED,
    }
    return [bound for bound, holds in held.items() if not holds]


if __name__ == "__main__":
    sys.exit(main())
