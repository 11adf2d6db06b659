"""One walk from a seed: hours of traffic with faults, which stop; then all events must settle."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from proof.asl.machine import Machine
from proof.sim.deeds import Deeds
from proof.sim.events import DAY_MS, HOUR_MS, MINUTE_MS, START_MS
from proof.sim.function import Function
from proof.sim.promises import BrokenError, Promises
from proof.sim.traffic import LONG, MAKERS, traffic
from proof.sim.world import Due, Option, Settings, World

FAULTS = ("crash", "error", "down", "lost", "late", "twice", "undeleted", "function", "unseen",
          "table", "destination", "unheard", "slow")  # fmt: skip
_RATES = (0.0, 0.01, 0.03, 0.08)
_SHARES = {"late": 0.5, "down": 0.3, "unseen": 0.5, "undeleted": 0.7}
_HEALED_MS = 25 * MINUTE_MS

Functions = Callable[[int, int], Function]  # by requests per minute and MaxTries


@dataclass
class Weather:
    """Names what a walk varies besides faults by chance; everything follows from its seed."""

    per_minute: int = 0
    most_tries: int = 3
    skew_ms: int = 0
    pollers: int = 20
    rates: dict[str, float] = field(default_factory=dict)
    budget: int = 0
    kinds: list[str] = field(default_factory=list)
    bad_ms: tuple[int, int] = (0, 0)
    bad: str = ""
    denied_ms: tuple[int, int] = (0, 0)
    parking_denied: bool = False
    purged_ms: tuple[int, int] = (0, 0)
    paused_ms: tuple[int, int] = (0, 0)
    broken_ms: tuple[int, int] = (0, 0)
    redrives: bool = True
    receives: int = 12
    nothing_deleted: bool = False


def drawn(rng: random.Random, *, long: bool, forced: str = "") -> Weather:
    """Draws a walk's weather. `forced` brings about what is rare: kms, purge, pause or code."""
    kinds = sorted(MAKERS) if long else sorted(set(MAKERS) - set(LONG))
    weather = Weather(
        per_minute=rng.choice([0, 0, 0, 12, 60]),
        most_tries=rng.choice([3, 3, 20]),
        skew_ms=rng.choice([0, 0, 300]),
        pollers=rng.choice([1, 3, 8, 20]),
        budget=rng.choice([0, 1, 2, 5, 15, 40]) if long else rng.choice([5, 15, 40]),
        kinds=rng.sample(kinds, rng.choice([1, 2, 3])),
        nothing_deleted=rng.random() < 0.04,
    )
    weather.rates = {name: rng.choice(_RATES) * _SHARES.get(name, 1) for name in FAULTS}
    begins_ms = rng.choice([0, 5_000, 60_000])
    if long and rng.random() < 0.5:
        weather.bad = rng.choice(["500", "silent", "429", "429 forever"])
        lasts_ms = rng.choice([30_000, 400_000, HOUR_MS, 6 * HOUR_MS])
        weather.bad_ms = (begins_ms, begins_ms + lasts_ms)
    if forced == "kms" or (not forced and rng.random() < 0.2):
        begins_ms = rng.choice([0, 20_000, 200_000])
        weather.denied_ms = (begins_ms, begins_ms + rng.choice([700_000, 1_100_000]))
        weather.parking_denied = rng.random() < 0.3
        weather.receives = 3
    if forced == "purge" or (not forced and rng.random() < 0.15):
        begins_ms = rng.choice([2_000, 60_000, 300_000, 900_000])
        later_ms = rng.choice([1_860_000, 2_400_000, 5_000_000])
        weather.purged_ms = (begins_ms, begins_ms + later_ms)
    if forced == "pause" or (not forced and long and rng.random() < 0.2):
        begins_ms = rng.choice([100, 1_000, 20_000, 200_000])
        weather.paused_ms = (begins_ms, begins_ms + 1_000 * rng.choice([20, 90, 1_800, 7_200]))
    if forced == "code" or (not forced and rng.random() < 0.1):
        begins_ms = rng.choice([0, 5_000, 60_000])
        weather.broken_ms = (begins_ms, begins_ms + rng.choice([30_000, 300_000]))
    return weather


class Walk:
    def __init__(
        self,
        seed: int,
        machine: Machine,
        functions: Functions,
        *,
        long: bool = False,
        forced: str = "",
        told: bool = False,
        taped: bool = False,
    ) -> None:
        self.seed, self.rng = seed, random.Random(seed * 6_007 + 5)  # noqa: S311 - no secret
        self.weather = weather = drawn(self.rng, long=long, forced=forced)
        self.long, self.budget = long, weather.budget
        arrivals = traffic(self.rng, weather.kinds)
        events = {arrival.event.name: arrival.event for arrival in arrivals}
        function = functions(weather.per_minute, weather.most_tries)
        rng = self.rng

        self.world = World(
            machine,
            function,
            events,
            Promises(events, weather.per_minute, weather.most_tries),
            Settings(receives=weather.receives, pollers=weather.pollers),
            latency_ms=self._latency,
            skew_ms=lambda: rng.choice((-1, 0, 0, 1)) * weather.skew_ms,
            weather=lambda now_ms: weather.bad if _within(now_ms, weather.bad_ms) else "",
            denied=self._denied,
            is_broken=lambda now_ms: _within(now_ms, weather.broken_ms),
            now_ms=START_MS,
            happened=Counter(),
            told=[] if told else None,
            tapes={} if taped else None,
        )
        Deeds(self.world, rng, weather).plan(arrivals)
        self.moves = 0

    def _latency(self, kind: str) -> int:
        rng = self.rng
        if kind == "aws":
            return rng.choice((3, 5, 9, 20)) if rng.random() < 0.985 else rng.randint(900, 4_800)
        if kind == "late":
            return rng.choice((1_500, 6_000, 20_000, 60_000))
        if kind == "cold":
            return 2 if rng.random() < 0.97 else rng.choice((1_500, 5_000))
        if kind == "function" and rng.random() < 0.01:
            return rng.randint(900, 4_000)
        if kind == "again":
            return rng.choice((0, 5, 200, 5_000, 200_000))
        return rng.choice({"queue": (0, 0, 30), "request": (20, 60, 60, 400)}.get(kind, (2, 5, 9)))

    def _denied(self, now_ms: int, queue: str) -> bool:
        if not _within(now_ms, self.weather.denied_ms):
            return False
        return queue != "dead-letters" or self.weather.parking_denied

    @property
    def is_faulty(self) -> bool:
        return self.world.now_ms < START_MS + _HEALED_MS

    def step(self) -> bool:
        """Lets one thing happen, and returns false if nothing is left to do."""
        due = self.world.next_due()
        if due is None:
            return False
        self.moves += 1
        self.world.go(due, self._option(due))
        return True

    def _option(self, due: Due) -> Option:
        self.world.now_ms = max(self.world.now_ms, due.at_ms)
        options = self.world.options(due)
        is_first_hour = self.world.now_ms < START_MS + HOUR_MS
        if self.weather.nothing_deleted and is_first_hour and options[0].outcome == "deleted":
            return options[1]
        if self.budget <= 0 or not self.is_faulty:
            return options[0]
        for option in options[1:]:
            if option.fault and self.rng.random() < self.weather.rates[option.fault]:
                self.budget -= 1
                return option
        return options[0]

    def play(self) -> None:
        """Raises BrokenError if a promise is broken."""
        ends_ms = START_MS + (12 * DAY_MS if self.long else 5 * HOUR_MS)
        most = 200_000 if self.long else 40_000
        while self.step():
            if self.world.now_ms > ends_ms and not self.world.runs:
                break
            if self.moves > most:
                raise BrokenError("executions end", f"after {most} moves something is left to do")
        self.world.promises.quiet()


def _within(now_ms: int, span_ms: tuple[int, int]) -> bool:
    return START_MS + span_ms[0] <= now_ms < START_MS + span_ms[1]


def played(seed: int, machine: Machine, functions: Functions, **options: Any) -> tuple[Walk, str]:
    """Returns a walk and what it broke, or nothing."""
    walk = Walk(seed, machine, functions, **options)
    try:
        walk.play()
    except BrokenError as broken:
        return walk, str(broken)
    return walk, ""
