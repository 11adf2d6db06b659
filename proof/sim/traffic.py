"""Traffic for walks: what happens, in which copies, and when its messages arrive."""

import random
from dataclasses import replace
from typing import NamedTuple

from proof.sim import real
from proof.sim.events import START_MS, Event, Order, Temper
from proof.sim.real import Made, Maker

_BASE_MS = START_MS - 90_000
_SOON = (0, 0, 0, 3, 40, 400, 3_000, 30_000)


class Arrival(NamedTuple):
    after_ms: int
    event: Event


def _states(
    name: str,
    order: Order,
    counts: tuple[int, ...],
    gaps_ms: tuple[int, ...],
    states: str = "01",
    *,
    in_time: bool = False,
    noise: bool = False,
) -> Maker:
    """States of one subject, some gap apart. They arrive in time, or some of them together."""

    def make(rng: random.Random) -> Made:
        gap_ms = rng.choice(gaps_ms)
        for n in range(rng.choice(counts)):
            state = rng.choice(states) if noise else states[n % len(states)]
            event = Event(f"{name}{n}", _BASE_MS + n * gap_ms, state, name, order)
            event = replace(event, noise=str(n % 4) if noise else "")
            together = 0 if in_time else rng.choice([0, 1, 1])
            yield n * (gap_ms if in_time else together * gap_ms), rng.choice([1, 1, 2]), event

    return make


def _discrete(rng: random.Random) -> Made:
    for n in range(rng.choice([1, 3])):
        yield 0, rng.choice([1, 2, 3, 6]), Event(f"discrete{n}", _BASE_MS + 3_000 * n, subject="1")


def _window(rng: random.Random) -> Made:
    """Copies of a state differ in time, and the state comes again."""
    for n in range(rng.choice([2, 3])):
        for copy in range(rng.choice([1, 2, 3])):
            at_ms = _BASE_MS + n * 5_000 + copy * rng.choice([0, 200])
            event = Event(f"window{n}.{copy}", at_ms, str(n % 2), "6", "latest", 500)
            yield 0, 1, replace(event, name_of_copy=f"window{n}")


def _unlike(temper: Temper) -> Maker:
    def make(rng: random.Random) -> Made:
        for n in range(2):
            event = Event(f"{temper}{n}", _BASE_MS + n, subject="7", temper=temper)
            yield 0, rng.choice([1, 2, 3]), event
        for n in range(12):
            beat = Event(f"beat{n}", _BASE_MS + n, subject=f"beat{n}")
            yield 60_000 + n * rng.choice([100_000, 600_000]), 1, beat

    return make


def _crowd(rng: random.Random) -> Made:
    for n in range(30):
        event = Event(f"crowd{n}", _BASE_MS + n * 10, subject=f"crowd{n}")
        yield rng.choice([0, 1_000, 9_000, 15_000]), 1, event


def _facts(rng: random.Random) -> Made:
    """More changes than facts change; some are rejected."""
    make = _states("fact", "changes", (6,), (300, 1_500, 6_000, 20_000), "001", noise=True)
    for after_ms, copies, event in make(rng):
        temper: Temper = rng.choice(["well", "well", "well", "well", "well", "rejected"])
        yield after_ms, copies, replace(event, temper=temper)


def _mixed(rng: random.Random) -> Made:
    """One state is unwanted, expires, or wants every change."""
    kind = rng.choice(["unwanted", "expires", "every"])
    age_ms = rng.choice([-1, 40, 3_000, 60_000])
    make = _states(kind, "changes", (7,), (300, 1_500, 6_000, 20_000), "0012", noise=True)
    for after_ms, copies, event in make(rng):
        if event.state == "2" and kind == "unwanted":
            event = replace(event, wanted=False)
        elif event.state == "2" and kind == "expires":
            event = replace(event, expires_ms=event.at_ms - _BASE_MS + START_MS + age_ms)
        elif event.state == "1" and kind == "every":
            event = replace(event, order="every")
        yield after_ms, copies, event


MAKERS: dict[str, Maker] = {
    "discrete": _discrete,
    "latest": _states("latest", "latest", (2, 4, 6), (300, 900, 4_000)),
    "changes": _states("change", "changes", (3, 4, 6), (1_100, 5_000, 20_000)),
    # A busy subject, in the order of time.
    "chain": _states("chain", "changes", (8,), (1_500,), "012", in_time=True),
    # States closer than two clocks of Genesys agree.
    "unsure": _states("unsure", "changes", (5,), (300,)),
    "window": _window,
    "facts": _facts,
    "every": _states("every", "every", (6,), (300, 1_500, 6_000)),
    "mixed": _mixed,
    "rejected": _unlike("rejected"),
    "uncertain": _unlike("uncertain"),
    "crowd": _crowd,
    "fails": _unlike("fails"),
    "crashes": _unlike("crashes"),
    **real.MAKERS,
}
# They take hours, or many events.
LONG = ("crowd", "fails", "crashes")


def traffic(rng: random.Random, kinds: list[str]) -> list[Arrival]:
    """Returns the arrivals of all kinds, in the order of time."""
    arrivals = []
    for kind in kinds:
        for after_ms, copies, event in MAKERS[kind](rng):
            for _ in range(copies):
                late_ms = rng.choice(_SOON) + rng.choice([0, 0, 700])
                arrivals.append(Arrival(after_ms + late_ms, event))
                if rng.random() < 0.05:  # EventBridge delivers it twice
                    again_ms = late_ms + rng.choice([0, 40, 3_000, 40_000, 400_000])
                    arrivals.append(Arrival(after_ms + again_ms, event))
    return sorted(arrivals, key=lambda arrival: (arrival.after_ms, arrival.event.name))
