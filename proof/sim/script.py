"""A situation as a script: which events come, what fails, what people do, and what came of it."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any, Self

from proof.asl.machine import Machine
from proof.sim.events import HOUR_MS, START_MS, Event, Message, Order, body_of, unwrapped
from proof.sim.function import Function, Sending, Step
from proof.sim.promises import BrokenError, Known, Promises
from proof.sim.table import Key, key_of, written
from proof.sim.world import Due, Option, World

_LATENCIES_MS = {"late": 2_000, "request": 50}


class Script:
    """Nothing happens by chance: faults come where the script says, and all else goes well. Times
    are seconds from the start."""

    def __init__(
        self,
        machine: Machine,
        *,
        per_minute: int = 0,
        most_tries: int = 3,
        receives: int = 1_000,
        pollers: int = 1_000,
        most_moves: int = 100_000,
    ) -> None:
        self.most_moves, self.moves = most_moves, 0
        self.events: dict[str, Event] = {}
        self.world = World(
            machine,
            Function(per_minute, most_tries),
            self.events,
            Promises(self.events, per_minute, most_tries),
            receives=receives,
            pollers=pollers,
            latency_ms=self.latency_ms,
            weather=lambda now_ms: next(self._now("weather", now_ms), ""),
            denied=lambda now_ms, queue: queue in self._now("denied", now_ms),
            is_broken=lambda now_ms: any(self._now("broken", now_ms)),
            now_ms=START_MS,
        )
        self.spans: dict[str, list[tuple[float, float, str]]] = defaultdict(list)
        self._faults: list[tuple[str, str, str, int]] = []

    def latency_ms(self, kind: str) -> int:
        return _LATENCIES_MS.get(kind, 5)

    def limits(self, per_minute: int) -> Self:
        self.world.function = Function(per_minute, self.world.promises.most_tries)
        self.world.promises.per_minute = per_minute
        return self

    def receives(self, times: int) -> Self:
        """SQS moves a message to the dead-letter queue after so many receives."""
        self.world.receives = times
        return self

    # What happens, and when.

    def knows(self, event: Event) -> Self:
        if event.name not in self.events:
            self.events[event.name] = event
            self.world.promises.add(event)
        return self

    def arrives(self, event: Event, *at_s: float) -> Self:
        """A message of the event arrives at each of these times, or at the start."""
        self.knows(event)
        for time_s in at_s or (0,):
            self.does(time_s, lambda world: world.send(event.name, body_of(event)))
        return self

    def comes(self, *events: Event) -> Self:
        """Each event arrives when it happens."""
        for event in events:
            self.arrives(event, (event.at_ms - START_MS) / 1_000)
        return self

    def crowd(self, count: int, every_s: float, first_s: float = 0) -> Self:
        """Events of as many subjects arrive one after another."""
        for n in range(count):
            self.arrives(Event(f"e{n}", subject=f"e{n}"), first_s + every_s * n)
        return self

    def changes(
        self, count: int, every_s: float, state: str = "", order: Order = "changes"
    ) -> Self:
        """States of one subject arrive one after another."""
        for n in range(count):
            at_ms = START_MS + round(1_000 * every_s * n)
            self.comes(Event(f"s{n}", at_ms, state or str(n), order=order, noise=f"s{n}"))
        return self

    def does(self, at_s: float, deed: Callable[[World], Any]) -> Self:
        name = f"deed{len(self.world.deeds)}"
        self.world.deeds[name] = deed
        self.world.schedule("deed", name, START_MS + round(1_000 * at_s))
        return self

    def fails(
        self, where: str, how: str, event: str = "", times: int = 1, from_s: float = 0
    ) -> Self:
        """The next time that an execution of the event is at a state, or its function at a step
        (read, update, sends or ends), it fails like this."""
        return self.does(from_s, lambda _: self._faults.append((where, how, event, times)))

    def weather(self, outcome: str, from_s: float, to_s: float) -> Self:
        """All requests end like this."""
        return self._span("weather", from_s, to_s, outcome)

    def denies(self, from_s: float, to_s: float, queue: str = "events") -> Self:
        """The queue takes no message."""
        return self._span("denied", from_s, to_s, queue)

    def breaks(self, from_s: float, to_s: float) -> Self:
        """A function without its code is deployed."""
        return self._span("broken", from_s, to_s, "broken")

    def redrives(self, at_s: float, times: int = 1) -> Self:
        def redrive(world: World) -> None:
            for message in list(world.dead_letters.values()):
                self.redrive(message, times)

        return self.does(at_s, redrive)

    def redrive(self, message: Message, times: int = 1) -> None:
        """An operator redrives a message, and has repaired what it met."""
        world = self.world
        del world.dead_letters[message.id]
        world.repaired |= {message.event}
        world.promises.redriven(message)
        for _ in range(times):
            sent = world.send(message.event, message.body)
            world.say("an operator REDRIVES", message.id, message.event, "as", sent.id)

    def pauses(self, at_s: float, lasts_s: float) -> Self:
        def pause(world: World) -> None:
            until_ms = world.now_ms + round(1_000 * lasts_s)
            request = world.function.pause(until_ms, world.now_ms)
            world.rows[key_of(request)] = (
                written("update", request, world.rows.get(key_of(request))) or {}
            )
            world.promises.pauses += ((world.now_ms, until_ms),)
            world.say("an operator PAUSES requests for", lasts_s, "s")

        return self.does(at_s, pause)

    def purges(self, at_s: float) -> Self:
        def purge(world: World) -> None:
            world.say("an operator PURGES the queue")
            for message in list(world.queue.values()):
                del world.queue[message.id]
                world.due.pop(("message", message.id), None)
                world.promises.purged(message)

        return self.does(at_s, purge)

    def replays(self, at_s: float) -> Self:
        """Every event that has come comes again, from the archive."""

        def replay(world: World) -> None:
            world.say("an operator REPLAYS the day")
            for event in self.events.values():
                if event.identity not in world.promises.known:
                    continue
                world.promises.replayed(event.name)
                body = body_of(event)
                is_json = body.startswith("{")
                named = json.dumps(json.loads(body) | {"replay-name": "day"}) if is_json else body
                world.send(event.name, named)

        return self.does(at_s, replay)

    def expires(self, at_s: float, key: Key) -> Self:
        """The days of a row are over; DynamoDB removes it later."""

        def expire(world: World) -> None:
            world.rows[key] = world.rows[key] | {"expires_at": {"N": str(START_MS // 1_000)}}
            for event in world.promises.of_key.get(key, ()):
                world.promises.forget(event.name)

        return self.does(at_s, expire)

    # What came of it.

    def plays(self, hours: float = 12) -> Self:
        """Raises BrokenError if a promise is broken. Ends when nothing is left to do."""
        world, ends_ms = self.world, START_MS + round(hours * HOUR_MS)
        while (due := world.next_due()) and due.at_ms <= ends_ms:
            world.now_ms = max(world.now_ms, due.at_ms)
            world.go(due, self.option(due))
            self.moves += 1
            if self.moves > self.most_moves:
                raise BrokenError("executions end", "there is no end")
        if due is None:
            world.promises.quiet()
        return self

    def ends(self, acts: str, hours: float = 12, **outcomes: str) -> None:
        """Plays, and compares which events were acted on, in their order, and the outcomes of some
        events."""
        self.plays(hours)
        assert self.acts == acts.split()
        assert {event: ", ".join(self.outcomes[event]) for event in outcomes} == outcomes

    @property
    def acts(self) -> list[str]:
        """The events that were acted on, in the order in which they were."""
        return list(self.world.promises.acts_in_order)

    @property
    def outcomes(self) -> dict[str, list[str]]:
        """The outcomes of each event, without repetitions in a row."""
        outcomes: dict[str, list[str]] = defaultdict(list)
        for event, outcome, reason in self.world.promises.outcomes:
            if outcomes[event][-1:] != [f"{outcome} {reason}"]:
                outcomes[event].append(f"{outcome} {reason}")
        return dict(outcomes)

    def known(self, event: str) -> Known:
        return self.world.promises.of(event)

    @property
    def minutes(self) -> float:
        return (self.world.now_ms - START_MS) / 60_000

    @property
    def parked(self) -> list[str]:
        """The reasons of the messages in the dead-letter queue."""
        bodies = [unwrapped(message.body)[0] for message in self.world.dead_letters.values()]
        return [str(once.get("reason", "")) for once in bodies]

    def option(self, due: Due) -> Option:
        options = self.world.options(due)
        place, event = self._place(due)
        for number, (where, how, whose, times) in enumerate(self._faults):
            chosen = [option for option in options if option.outcome == how]
            if where == place and whose in ("", event) and chosen:
                self._faults[number] = (where, how, whose, times - 1)
                if times == 1:
                    del self._faults[number]
                return chosen[0]
        return options[0]

    def _place(self, due: Due) -> tuple[str, str]:
        """Returns where something is that is due, and of which event."""
        world = self.world
        if due.kind == "run":
            run = world.runs[due.id]
            return (run.position.top.state if run.position else "delete"), run.event
        if due.kind == "message":
            return "receive", world.queue[due.id].event
        if due.kind != "function":
            return "", ""
        invocation = world.invocations[due.id]
        step = None if invocation.sending else world.function.reached(invocation)[0]
        place = step.verb if isinstance(step, Step) else "ends"
        return "sends" if isinstance(step, Sending) else place, invocation.event

    def _span(self, kind: str, from_s: float, to_s: float, value: str) -> Self:
        self.spans[kind].append((from_s, to_s, value))
        return self

    def _now(self, kind: str, now_ms: int) -> Iterator[str]:
        now_s = (now_ms - START_MS) / 1_000
        return (value for from_s, to_s, value in self.spans[kind] if from_s <= now_s < to_s)
