"""Many events at a rate, with an outage of the destination: what is lost, how often each event is
looked at, and how long after the outage all have acted."""

import random
import time
from collections import Counter
from dataclasses import dataclass

from proof.asl.machine import Machine
from proof.sim.events import HOUR_MS, MINUTE_MS, START_MS, Event, body_of
from proof.sim.function import Function
from proof.sim.promises import Promises
from proof.sim.world import Settings, World


@dataclass(frozen=True)
class Load:
    """A fifth of the events is ordered, and a fifth of the messages are copies."""

    events: int = 10_000
    per_second: float = 200
    outage_from_s: float = 1
    outage_hours: float = 1
    how: str = "500"
    per_minute: int = 0
    ordered: float = 0.2
    copies: float = 0.2
    seed: int = 1


@dataclass(frozen=True)
class Report:
    events: int
    acts: int
    lost: int
    second_acts: int
    parked: int
    looks: int
    most_looks: int
    drained_minutes: float
    executions_per_second: int
    moves: int
    seconds: float
    outcomes: dict[str, int]


def run(load: Load, machine: Machine, function: Function) -> Report:
    """Raises BrokenError if a promise is broken."""
    began = time.process_time()
    rng = random.Random(load.seed)  # noqa: S311 - no secret
    events: dict[str, Event] = {}
    outage_ms = (
        START_MS + round(1_000 * load.outage_from_s),
        START_MS + round(1_000 * load.outage_from_s + HOUR_MS * load.outage_hours),
    )
    world = World(
        machine,
        function,
        events,
        Promises(events, load.per_minute, most_tries=20),
        Settings(pollers=1_000),
        latency_ms=lambda kind: rng.choice((20, 60, 60, 400) if kind == "request" else (2, 5, 9)),
        weather=lambda now_ms: load.how if outage_ms[0] <= now_ms < outage_ms[1] else "",
        now_ms=START_MS,
    )
    sent = 0

    def arrives(world: World) -> None:
        nonlocal sent
        event = _event(sent, load, rng)
        events[event.name] = event
        world.promises.add(event)
        sent += 1
        for _ in range(2 if rng.random() < load.copies else 1):
            world.send(event.name, body_of(event), rng.choice((0, 0, 3_000)))
        if sent < load.events:
            world.schedule("deed", "arrives", START_MS + round(1_000 * sent / load.per_second))

    world.deeds = {"arrives": arrives}
    world.schedule("deed", "arrives", START_MS)
    moves, last_act_ms, acts = 0, START_MS, 0
    per_second: Counter[int] = Counter()
    while (due := world.next_due()) is not None:
        moves += 1
        per_second[due.at_ms // 1_000] += due.kind == "message"
        world.go(due, world.options(due)[0])
        if len(world.promises.acts_in_order) > acts:
            acts, last_act_ms = len(world.promises.acts_in_order), world.now_ms
    world.promises.quiet()
    known = world.promises.known.values()
    lost = sum(not (k.acts or k.stale or k.unchanged or k.parked) for k in known)
    outcomes = Counter(f"{outcome} {reason}" for _, outcome, reason in world.promises.outcomes)
    return Report(
        events=len(events),
        acts=sum(bool(k.acts) for k in known),
        lost=lost,
        second_acts=sum(max(0, k.acts - 1) for k in known),
        parked=len(world.dead_letters),
        looks=sum(k.looks for k in known),
        most_looks=max(k.looks for k in known),
        drained_minutes=round(max(0, last_act_ms - outage_ms[1]) / MINUTE_MS, 1),
        executions_per_second=max(per_second.values()),
        moves=moves,
        seconds=round(time.process_time() - began, 1),
        outcomes=dict(outcomes.most_common()),
    )


def _event(number: int, load: Load, rng: random.Random) -> Event:
    at_ms = START_MS + round(1_000 * number / load.per_second)
    if rng.random() >= load.ordered:
        return Event(f"e{number}", at_ms, subject=f"e{number}")
    subject = f"s{rng.randrange(max(1, load.events // 20))}"
    state = str(rng.randrange(4))
    return Event(f"e{number}", at_ms, state, subject, "changes", noise=str(number))
