"""What the rounds of the state machine cost a backlog, beside lanes: in rounds nobody takes the
second event of a subject before every subject's first is settled; in lanes each subject goes on by
itself. Simulated with the model that bench.waiting runs.

Run: python -m bench.rounds. Writes bench/results/rounds.json, which docs/waiting.md shows.
"""

import random
import sys
from collections import defaultdict
from collections.abc import Generator, Sequence
from typing import Any

from bench import recorded
from proof.waiting import destination as to
from proof.waiting.kernel import Together
from proof.waiting.machine import AT_ONCE, Batch, Crashed, Machine
from proof.waiting.queue import Event, Message
from proof.waiting.simulation import DAY, Run

BACKLOG = 5_000
# So many events are of the same subject as the one before.
FOLLOWING = (0.0, 0.3, 0.6, 0.9)
TROUBLED = 0.05
SLOW_MS = 4_000


class Lanes(Machine):
    """Five subjects at once, the events of each one after the other."""

    def _rounds(self, batch: Batch, messages: Sequence[Message]) -> Generator[Any, Any, None]:
        subjects: dict[int, list[Message]] = defaultdict(list)
        for message in sorted(messages, key=lambda m: m.event.occurred_ms):
            subjects[message.event.subject].append(message)
        yield Together([self._lane(batch, own) for own in subjects.values()], AT_ONCE)
        if batch.crashed:
            raise Crashed

    def _lane(self, batch: Batch, messages: Sequence[Message]) -> Generator[Any, Any, None]:
        for message in messages:
            yield from self._settled(batch, message)
            if message not in batch.settled:
                return


def troubled(reply: to.Reply) -> to.Destination:
    """One call in twenty ends so."""

    def destination(event: Event, now_ms: int, rng: random.Random) -> to.Reply:
        return reply if rng.random() < TROUBLED else to.well(event, now_ms, rng)

    return destination


DESTINATIONS = {
    "well": to.well,
    "5 % of calls fail": troubled(to.Reply("failed", 200)),
    "5 % of calls take 4 s": troubled(to.Reply("acted", SLOW_MS)),
    "5 % of calls hang": troubled(to.Reply("failed", to.CALL_MS)),
}


def busy_ms(machine: type[Machine], destination: to.Destination, following: float) -> float:
    """For how long the pipe's pollers were busy with an event: what a drain takes of each."""
    run = Run(
        [], destination, backlog=BACKLOG, same_subject=following, machine_class=machine
    ).until(DAY, settled=True)
    return run.pipe.busy_ms / run.reasons()["ACTED"]


def main() -> int:
    found = []
    for name, destination in DESTINATIONS.items():
        for following in FOLLOWING:
            rounds, lanes = (
                busy_ms(machine, destination, following) for machine in (Machine, Lanes)
            )
            found.append(
                {
                    "destination": name,
                    "following": following,
                    "roundsMs": round(rounds, 1),
                    "lanesMs": round(lanes, 1),
                    "times": round(rounds / lanes, 2),
                }
            )
            print(found[-1], flush=True)
    recorded.write("rounds", {"backlog": BACKLOG, "runs": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
