"""Deeds of people and services: events arrive; operators pause, replay, purge and redrive."""

import json
import random
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from proof.sim.events import MINUTE_MS, START_MS, Event, Message, body_of, unwrapped
from proof.sim.table import key_of, written
from proof.sim.traffic import Arrival

if TYPE_CHECKING:
    from proof.sim.walk import Weather
    from proof.sim.world import World

# It would only be parked again.
_HOPELESS = ("fails", "broken", "crashes")
_LAST_REDRIVES_MS = tuple(minutes * MINUTE_MS for minutes in (26, 60, 100, 140, 180))


class Deeds:
    def __init__(self, world: "World", rng: random.Random, weather: "Weather") -> None:
        self._world, self._rng, self._weather = world, rng, weather
        self._deeds: dict[str, Callable[[World], None]] = {}
        self._bodies: dict[str, str] = {}

    def plan(self, arrivals: Iterable[Arrival]) -> None:
        weather, rng = self._weather, self._rng
        for arrival in arrivals:
            self._at(arrival.after_ms, self._arrives(arrival.event))
        if weather.redrives:
            for n in range(8):
                self._at(round((n + rng.random()) * 3 * MINUTE_MS), self._redrives(0.7, 0.3))
        for at_ms in _LAST_REDRIVES_MS:
            self._at(at_ms, self._redrives(1, 0))
        if weather.denied_ms[1]:
            self._at(weather.denied_ms[1] + 1, self._redrives(1, 0, only_received=True))
        if weather.purged_ms[1]:
            self._at(weather.purged_ms[0], self._purges)
            self._at(weather.purged_ms[1], self._replays)
        if weather.paused_ms[1]:
            self._at(weather.paused_ms[0], self._pauses)
        self._world.deeds = self._deeds

    def _at(self, after_ms: int, deed: Callable[["World"], None]) -> None:
        name = f"deed{len(self._deeds)}"
        self._deeds[name] = deed
        self._world.schedule("deed", name, START_MS + after_ms)

    def _arrives(self, event: Event) -> Callable[["World"], None]:
        def arrives(world: "World") -> None:
            self._bodies[event.name] = body_of(event)
            message = world.send(event.name, body_of(event))
            world.say(message.id, "arrives with", event.name)

        return arrives

    def _redrives(
        self, share: float, twice: float, *, only_received: bool = False
    ) -> Callable[["World"], None]:
        def redrives(world: "World") -> None:
            for message in list(world.dead_letters.values()):
                is_parked = "parkedAtMs" in unwrapped(message.body)[0]
                hopeless = world.events[message.event].temper in _HOPELESS
                if hopeless or (only_received and is_parked) or self._rng.random() >= share:
                    continue
                redrive(world, message, 2 if self._rng.random() < twice else 1)

        return redrives

    def _purges(self, world: "World") -> None:
        world.say("an operator PURGES the queue")
        for message in list(world.queue.values()):
            del world.queue[message.id]
            world.due.pop(("message", message.id), None)
            world.promises.purged(message)

    def _replays(self, world: "World") -> None:
        world.say("an operator REPLAYS the day")
        for name, body in self._bodies.items():
            world.promises.replayed(name)
            is_json = body.startswith("{")
            named = json.dumps(json.loads(body) | {"replay-name": "day"}) if is_json else body
            world.send(name, named)

    def _pauses(self, world: "World") -> None:
        until_ms = START_MS + self._weather.paused_ms[1]
        pause(world, until_ms)


def redrive(world: "World", message: Message, times: int = 1) -> None:
    """An operator redrives a message of the dead-letter queue, and has repaired what it met."""
    del world.dead_letters[message.id]
    world.repaired |= {message.event}
    world.promises.redriven(message)
    for _ in range(times):
        sent = world.send(message.event, message.body)
        world.say("an operator REDRIVES", message.id, message.event, "as", sent.id)


def pause(world: "World", until_ms: int) -> None:
    request = world.function.pause(until_ms, world.now_ms)
    row = written("update", request, world.rows.get(key_of(request)))
    assert row is not None
    world.rows[key_of(request)] = row
    world.promises.pauses += ((world.now_ms, until_ms),)
    world.say("an operator PAUSES requests for", (until_ms - world.now_ms) // 1_000, "s")
