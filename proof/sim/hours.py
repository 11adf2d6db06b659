"""Many events at a rate, with an outage of the destination: what is lost, how often each event is
looked at, and how long after the outage all have acted."""

import random
import time
from collections import Counter
from typing import Any

from proof.asl.machine import Machine
from proof.sim.events import MINUTE_MS, START_MS, Event
from proof.sim.script import Script
from proof.sim.world import Due, Option

_OUTAGE_BEGINS_S = 1
# A fifth of the events is ordered, and a fifth of the messages are copies.
_SHARE = 0.2


class _Hours(Script):
    def __init__(
        self, machine: Machine, events: int, per_second: float, outage_ends_s: float
    ) -> None:
        super().__init__(machine, most_tries=20, most_moves=1_000 * events)
        self.rng = rng = random.Random(1)  # noqa: S311 - no secret
        self.received_in: Counter[int] = Counter()  # a second
        self.acted_ms = START_MS
        self._acts = 0
        self.weather("500", _OUTAGE_BEGINS_S, outage_ends_s)
        for number in range(events):
            at_s, name = number / per_second, f"e{number}"
            event = Event(name, START_MS + round(1_000 * at_s), subject=name)
            if rng.random() < _SHARE:
                subject, state = f"s{rng.randrange(max(1, events // 20))}", str(rng.randrange(4))
                event = Event(name, event.at_ms, state, subject, "changes", noise=name)
            copies = [at_s + rng.choice((0, 3))] if rng.random() < _SHARE else []
            self.arrives(event, at_s, *copies)

    def latency_ms(self, kind: str) -> int:
        return self.rng.choice((20, 60, 60, 400) if kind == "request" else (2, 5, 9))

    def option(self, due: Due) -> Option:
        self.received_in[due.at_ms // 1_000] += due.kind == "message"
        acts = len(self.world.promises.acts_in_order)
        if acts > self._acts:
            self._acts, self.acted_ms = acts, self.world.now_ms
        return self.world.options(due)[0]


def run(
    machine: Machine, events: int = 10_000, per_second: float = 200, outage_hours: float = 1
) -> dict[str, Any]:
    """Raises BrokenError if a promise is broken."""
    began = time.process_time()
    outage_ends_s = _OUTAGE_BEGINS_S + 3_600 * outage_hours
    hours = _Hours(machine, events, per_second, outage_ends_s)
    hours.plays(24 * 15)
    promises = hours.world.promises
    known = promises.known.values()
    outcomes = Counter(f"{outcome} {reason}" for _, outcome, reason in promises.outcomes)
    drained_ms = hours.acted_ms - START_MS - 1_000 * outage_ends_s
    return {
        "events": events,
        "acts": sum(bool(k.acts) for k in known),
        "lost": sum(not (k.acts or k.stale or k.unchanged or k.parked) for k in known),
        "second_acts": sum(max(0, k.acts - 1) for k in known),
        "parked": len(hours.world.dead_letters),
        "looks": sum(k.looks for k in known),
        "most_looks": max(k.looks for k in known),
        "drained_minutes": round(max(0, drained_ms) / MINUTE_MS, 1),
        "executions_per_second": max(hours.received_in.values()),
        "moves": hours.moves,
        "seconds": round(time.process_time() - began, 1),
        "outcomes": dict(outcomes.most_common()),
    }
