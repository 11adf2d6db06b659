"""A situation as a script: which events come, what fails, what people do, and what came of it."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from proof.asl.machine import Machine
from proof.sim.deeds import pause, redrive
from proof.sim.events import HOUR_MS, START_MS, Event, body_of, unwrapped
from proof.sim.function import Function, Returned, Sending, Step
from proof.sim.promises import BrokenError, Promises
from proof.sim.world import Due, Option, Settings, World

_LATENCY_MS = 5


class Script:
    """Nothing happens by chance: faults come where the script says, and all else goes well."""

    def __init__(
        self,
        machine: Machine,
        function: Function,
        *,
        per_minute: int = 0,
        receives: int = 1_000,
        most_moves: int = 100_000,
    ) -> None:
        self._moves_left = most_moves
        self.events: dict[str, Event] = {}
        self.world = World(
            machine,
            function,
            self.events,
            Promises(self.events, per_minute),
            Settings(receives=receives),
            latency_ms=lambda kind: {"late": 2_000, "request": 50}.get(kind, _LATENCY_MS),
            weather=self._weather_at,
            denied=lambda now_ms, queue: self._within("denied", now_ms, queue),
            now_ms=START_MS,
            told=[],
        )
        self._deeds: dict[str, Callable[[World], None]] = {}
        self.world.deeds = self._deeds
        self._spans: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
        self._faults: list[tuple[str, str, str, int]] = []

    # What happens, and when. Times are seconds from the start.

    def knows(self, event: Event) -> "Script":
        if event.name not in self.events:
            self.events[event.name] = event
            self.world.promises.add(event)
        return self

    def arrives(self, event: Event, at_s: float = 0, copies: int = 1) -> "Script":
        self.knows(event)
        for _ in range(copies):
            self.does(at_s, lambda world: world.send(event.name, body_of(event)))
        return self

    def does(self, at_s: float, deed: Callable[[World], Any]) -> "Script":
        name = f"deed{len(self._deeds)}"
        self._deeds[name] = deed
        self.world.schedule("deed", name, START_MS + round(1_000 * at_s))
        return self

    def fails(self, where: str, how: str, event: str = "", times: int = 1) -> "Script":
        """The next time that an execution of the event is at a state, or its function at a step
        (read, update, sends or ends), it fails like this."""
        self._faults.append((where, how, event, times))
        return self

    def weather(self, outcome: str, from_s: float, to_s: float) -> "Script":
        self._spans["weather"].append((round(1_000 * from_s), round(1_000 * to_s), outcome))
        return self

    def denies(self, from_s: float, to_s: float, queue: str = "events") -> "Script":
        self._spans["denied"].append((round(1_000 * from_s), round(1_000 * to_s), queue))
        return self

    def redrives(self, at_s: float, times: int = 1) -> "Script":
        def deed(world: World) -> None:
            for message in list(world.dead_letters.values()):
                redrive(world, message, times)

        return self.does(at_s, deed)

    def pauses(self, at_s: float, lasts_s: float) -> "Script":
        return self.does(at_s, lambda world: pause(world, world.now_ms + round(1_000 * lasts_s)))

    def purges(self, at_s: float) -> "Script":
        def deed(world: World) -> None:
            for message in list(world.queue.values()):
                del world.queue[message.id]
                world.due.pop(("message", message.id), None)
                world.promises.purged(message)

        return self.does(at_s, deed)

    # What came of it.

    def plays(self, hours: float = 12) -> "Script":
        """Raises BrokenError if a promise is broken. Ends when nothing is left to do."""
        ends_ms = START_MS + round(hours * HOUR_MS)
        while (due := self.world.next_due()) and due.at_ms <= ends_ms:
            self.world.now_ms = max(self.world.now_ms, due.at_ms)
            self.world.go(due, self._option(due))
            self._moves_left -= 1
            if not self._moves_left:
                raise BrokenError("executions end", "there is no end")
        if due is None:
            self.world.promises.quiet()
        return self

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

    def requests(self, event: str) -> int:
        return self.world.promises.known[self.events[event].identity].requests

    def looks(self, event: str) -> int:
        return self.world.promises.known[self.events[event].identity].looks

    @property
    def parked(self) -> list[str]:
        """The reasons of the messages in the dead-letter queue."""
        bodies = [unwrapped(message.body)[0] for message in self.world.dead_letters.values()]
        return [str(once.get("reason", "")) for once in bodies]

    def _option(self, due: Due) -> Option:
        options = self.world.options(due)
        place, event = self._place(due)
        for number, (where, how, whose, times) in enumerate(self._faults):
            if where != place or whose not in ("", event):
                continue
            for option in options:
                if option.outcome == how:
                    self._faults[number] = (where, how, whose, times - 1)
                    if times == 1:
                        del self._faults[number]
                    return option
        return options[0]

    def _place(self, due: Due) -> tuple[str, str]:
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
        if isinstance(step, Step):
            return step.verb, invocation.event
        if isinstance(step, Sending):
            return "sends", invocation.event
        return ("ends" if isinstance(step, Returned) else "fails"), invocation.event

    def _weather_at(self, now_ms: int) -> str:
        for from_ms, to_ms, outcome in self._spans["weather"]:
            if from_ms <= now_ms - START_MS < to_ms:
                return outcome
        return ""

    def _within(self, kind: str, now_ms: int, queue: str) -> bool:
        spans = self._spans[kind]
        return any(f <= now_ms - START_MS < t and q == queue for f, t, q in spans)
