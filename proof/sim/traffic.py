"""Traffic for walks: what happens, in which copies, and when its messages arrive."""

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from proof.sim import real
from proof.sim.events import START_MS, Event, Temper

_BASE_MS = START_MS - 90_000
_SOON = (0, 0, 0, 3, 40, 400, 3_000, 30_000)


class Arrival(NamedTuple):
    after_ms: int
    event: Event


Maker = Callable[[random.Random], Iterator[tuple[int, int, Event]]]


def _discrete(rng: random.Random) -> Iterator[tuple[int, int, Event]]:
    for n in range(rng.choice([1, 3])):
        yield 0, rng.choice([1, 2, 3, 6]), Event(f"discrete{n}", _BASE_MS + 3_000 * n, subject="1")


def _latest(rng: random.Random) -> Iterator[tuple[int, int, Event]]:
    gap_ms = rng.choice([300, 900, 4_000])
    for n in range(rng.choice([2, 4, 6])):
        at_ms = _BASE_MS + n * gap_ms
        event = Event(f"latest{n}", at_ms, str(n % 2), "2", "latest")
        yield n * rng.choice([0, gap_ms]), rng.choice([1, 1, 2]), event


def _changes(rng: random.Random) -> Iterator[tuple[int, int, Event]]:
    gap_ms = rng.choice([1_100, 5_000, 20_000])
    for n in range(rng.choice([3, 4, 6])):
        event = Event(f"change{n}", _BASE_MS + n * gap_ms, str(n % 2), "3", "changes")
        yield n * rng.choice([0, gap_ms, gap_ms]), rng.choice([1, 1, 2]), event


def _chain(rng: random.Random) -> Iterator[tuple[int, int, Event]]:
    """A busy subject, in the order of time."""
    for n in range(8):
        event = Event(f"chain{n}", _BASE_MS + n * 1_500, str(n % 3), "4", "changes")
        yield n * 1_500, rng.choice([1, 1, 2]), event


def _unsure(rng: random.Random) -> Iterator[tuple[int, int, Event]]:
    """States closer than two clocks of Genesys agree."""
    for n in range(5):
        event = Event(f"unsure{n}", _BASE_MS + n * 300, str(n % 2), "5", "changes")
        yield n * rng.choice([0, 300]), rng.choice([1, 1, 2]), event


def _window(rng: random.Random) -> Iterator[tuple[int, int, Event]]:
    """Copies of a state differ in time, and the state comes again."""
    for n in range(rng.choice([2, 3])):
        for copy in range(rng.choice([1, 2, 3])):
            at_ms = _BASE_MS + n * 5_000 + copy * rng.choice([0, 200])
            event = Event(f"window{n}.{copy}", at_ms, str(n % 2), "6", "latest", 500)
            yield 0, 1, replace(event, name_of_copy=f"window{n}")


def _unlike(temper: Temper) -> Maker:
    def make(rng: random.Random) -> Iterator[tuple[int, int, Event]]:
        for n in range(2):
            event = Event(f"{temper}{n}", _BASE_MS + n, subject="7", temper=temper)
            yield 0, rng.choice([1, 2, 3]), event
        for n in range(12):
            beat = Event(f"beat{n}", _BASE_MS + n, subject=f"beat{n}")
            yield 60_000 + n * rng.choice([100_000, 600_000]), 1, beat

    return make


def _crowd(rng: random.Random) -> Iterator[tuple[int, int, Event]]:
    for n in range(30):
        event = Event(f"crowd{n}", _BASE_MS + n * 10, subject=f"crowd{n}")
        yield rng.choice([0, 1_000, 9_000, 15_000]), 1, event


def _facts(rng: random.Random) -> Iterator[tuple[int, int, Event]]:
    """More changes than facts change."""
    gap_ms = rng.choice([300, 1_500, 6_000, 20_000])
    for n in range(6):
        temper: Temper = rng.choice(["well", "well", "well", "well", "well", "rejected"])
        event = Event(
            f"fact{n}",
            _BASE_MS + n * gap_ms,
            rng.choice("001"),
            "8",
            "changes",
            noise=str(n % 4),
            temper=temper,
        )
        yield n * rng.choice([0, gap_ms, gap_ms]), rng.choice([1, 1, 2]), event


def _every(rng: random.Random) -> Iterator[tuple[int, int, Event]]:
    gap_ms = rng.choice([300, 1_500, 6_000])
    for n in range(6):
        event = Event(f"every{n}", _BASE_MS + n * gap_ms, rng.choice("01"), "9", "every")
        yield n * rng.choice([0, gap_ms, gap_ms]), rng.choice([1, 1, 2]), event


def _mixed(rng: random.Random) -> Iterator[tuple[int, int, Event]]:
    """One state is unwanted, expires, or wants every change."""
    gap_ms = rng.choice([300, 1_500, 6_000, 20_000])
    kind = rng.choice(["unwanted", "expires", "every"])
    age_ms = rng.choice([-1, 40, 3_000, 60_000])
    for n in range(7):
        state = rng.choice("0012")
        at_ms = _BASE_MS + n * gap_ms
        event = Event(f"{kind}{n}", at_ms, state, "10", "changes", noise=str(n % 4))
        if state == "2" and kind == "unwanted":
            event = replace(event, wanted=False)
        elif state == "2" and kind == "expires":
            event = replace(event, expires_ms=START_MS + n * gap_ms + age_ms)
        elif state == "1" and kind == "every":
            event = replace(event, order="every")
        yield n * rng.choice([0, gap_ms, gap_ms]), rng.choice([1, 1, 2]), event


def _broken(_: random.Random) -> Iterator[tuple[int, int, Event]]:
    yield 0, 1, Event("broken0", temper="broken", subject="11")


MAKERS: dict[str, Maker] = {
    "discrete": _discrete,
    "latest": _latest,
    "changes": _changes,
    "chain": _chain,
    "unsure": _unsure,
    "window": _window,
    "facts": _facts,
    "every": _every,
    "mixed": _mixed,
    "rejected": _unlike("rejected"),
    "uncertain": _unlike("uncertain"),
    "broken": _broken,
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
