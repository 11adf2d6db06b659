"""One walk from a seed: hours of traffic with faults, which stop; then all events must settle."""

import random

from proof.asl.machine import Machine
from proof.sim.events import DAY_MS, HOUR_MS, START_MS, unwrapped
from proof.sim.promises import BrokenError
from proof.sim.script import Script
from proof.sim.traffic import LONG, MAKERS, traffic
from proof.sim.world import Due, Option, World

FAULTS = ("crash", "error", "down", "lost", "late", "twice", "undeleted", "function", "unseen",
          "table", "destination", "unheard", "slow")  # fmt: skip
# What a walk is made to have, in turn, because it is rare by chance.
FORCED = ("", "", "kms", "purge", "pause", "code")
_RATES = (0.0, 0.01, 0.03, 0.08)
_SHARES = {"late": 0.5, "down": 0.3, "unseen": 0.5, "undeleted": 0.7}
_HEALED_MS = START_MS + 25 * 60_000
_LAST_REDRIVES_S = (1_560, 3_600, 6_000, 8_400, 10_800)
# A redriven message of theirs would only be parked again.
_HOPELESS = ("fails", "broken", "crashes")


class Walk(Script):
    """Everything follows from the seed. `forced` brings about what is rare."""

    def __init__(
        self, seed: int, machine: Machine, *, long: bool = False, forced: str = ""
    ) -> None:
        self.rng = rng = random.Random(seed * 6_007 + 5)  # noqa: S311 - no secret
        self.long, self.skew_ms = long, rng.choice([0, 0, 300])
        self.budget = rng.choice([0, 1, 2, 5, 15, 40] if long else [5, 15, 40])
        self.rates = {name: rng.choice(_RATES) * _SHARES.get(name, 1) for name in FAULTS}
        self.nothing_deleted = rng.random() < 0.04
        is_denied = self._has("kms", forced, 0.2)
        super().__init__(
            machine,
            per_minute=rng.choice([0, 0, 0, 12, 60]),
            most_tries=rng.choice([3, 3, 20]),
            receives=3 if is_denied else 12,
            pollers=rng.choice([1, 3, 8, 20]),
            most_moves=200_000 if long else 40_000,
        )
        self.world.skew_ms = lambda: rng.choice((-1, 0, 0, 1)) * self.skew_ms
        kinds = sorted(MAKERS) if long else sorted(set(MAKERS) - set(LONG))
        self.kinds = rng.sample(kinds, rng.choice([1, 2, 3]))
        for arrival in traffic(rng, self.kinds):
            self.arrives(arrival.event, arrival.after_ms / 1_000)
        for n in range(8):
            self._redrives((n + rng.random()) * 180, 0.7, 0.3)
        for at_s in _LAST_REDRIVES_S:
            self._redrives(at_s)
        if is_denied:
            self._denies(rng.choice([0, 20, 200]), rng.choice([700, 1_100]))
        if self._has("purge", forced, 0.15):
            at_s = rng.choice([2, 60, 300, 900])
            self.purges(at_s).replays(at_s + rng.choice([1_860, 2_400, 5_000]))
        if self._has("pause", forced, 0.2 if long else 0):
            self.pauses(rng.choice([0.1, 1, 20, 200]), rng.choice([20, 90, 1_800, 7_200]))
        if self._has("code", forced, 0.1):
            from_s = rng.choice([0, 5, 60])
            self.breaks(from_s, from_s + rng.choice([30, 300]))
        if long and rng.random() < 0.5:
            from_s, lasts_s = rng.choice([0, 5, 60]), rng.choice([30, 400, 3_600, 21_600])
            how = rng.choice(["500", "silent", "429", "429 forever"])
            self.weather(how, from_s, from_s + lasts_s)

    def _has(self, what: str, forced: str, share: float) -> bool:
        return forced == what or (not forced and self.rng.random() < share)

    def _denies(self, from_s: float, lasts_s: float) -> None:
        """No message can be sent, for want of the key; afterwards an operator redrives."""
        self.denies(from_s, from_s + lasts_s)
        if self.rng.random() < 0.3:
            self.denies(from_s, from_s + lasts_s, "dead-letters")
        self._redrives(from_s + lasts_s + 0.001, only_received=True)

    def _redrives(
        self, at_s: float, share: float = 1, twice: float = 0, *, only_received: bool = False
    ) -> None:
        def redrive(world: World) -> None:
            for message in list(world.dead_letters.values()):
                is_hopeless = world.events[message.event].temper in _HOPELESS
                is_parked = "parkedAtMs" in unwrapped(message.body)[0]
                if is_hopeless or (only_received and is_parked) or self.rng.random() >= share:
                    continue
                self.redrive(message, 2 if self.rng.random() < twice else 1)

        self.does(at_s, redrive)

    def latency_ms(self, kind: str) -> int:
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

    def option(self, due: Due) -> Option:
        options, now_ms = self.world.options(due), self.world.now_ms
        is_first_hour = now_ms < START_MS + HOUR_MS
        if self.nothing_deleted and is_first_hour and options[0].outcome == "deleted":
            return options[1]
        if self.budget <= 0 or now_ms >= _HEALED_MS:
            return options[0]
        for option in options[1:]:
            if option.fault and self.rng.random() < self.rates[option.fault]:
                self.budget -= 1
                return option
        return options[0]

    def broken_promise(self) -> str:
        """Plays the walk; returns what is broken, or nothing."""
        try:
            self.plays(12 * DAY_MS / HOUR_MS if self.long else 5)
            self.world.promises.quiet()
        except BrokenError as broken:
            return str(broken)
        return ""
