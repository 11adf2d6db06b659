"""Plays messages through the deployed machine and functions, the real enrichment included, in the
simulator's world."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from once_enrichment import handler

from proof.asl.machine import Machine
from proof.sim import deployed
from proof.sim.events import START_MS, Event, Message
from proof.sim.function import Function, Invocation
from proof.sim.promises import Promises
from proof.sim.world import Due, Option, Run, World

Choose = Callable[[World, Due], Option]
_DAYS_MS = 15 * 86_400_000


class Act(NamedTuple):
    """A request on which the destination acted."""

    event: str
    key: str
    at_ms: int


class _Witness:
    """Stands where the simulator has its promises, and only notes what happens."""

    def __init__(self) -> None:
        self.done: list[Act] = []
        # By execution: its event, and its record if it wrote one.
        self.events: dict[str, str] = {}
        self.records: dict[str, dict[str, Any]] = {}
        self.invocations: list[tuple[Invocation, int]] = []  # with their ends
        self.world: World | None = None

    def acts(self, invocation: Invocation, **_: Any) -> None:
        key = invocation.payload["idempotencyKey"]
        self.done.append(Act(invocation.event, key, self._now_ms()))

    def begun(self, run: Run) -> None:
        self.events[run.name] = run.event

    def recorded(self, _: World, run: Run, record: dict[str, Any]) -> None:
        self.records[run.name] = record

    def function_ended(self, invocation: Invocation, _: object) -> None:
        self.invocations.append((invocation, self._now_ms()))

    def _now_ms(self) -> int:
        return self.world.now_ms if self.world else 0

    def __getattr__(self, _: str) -> Callable[..., None]:
        return lambda *_, **__: None


def element(_: Event, message: Message) -> dict[str, Any]:
    """Returns what the deployed enrichment makes of a message."""
    record = {
        "messageId": message.id,
        "body": message.body,
        "attributes": {
            "SentTimestamp": str(message.sent_ms),
            "ApproximateReceiveCount": str(message.receives),
        },
        "messageAttributes": {},
    }
    return handler.handler([record], None)[0]


def naturally(world: World, due: Due) -> Option:
    return world.options(due)[0]


class Site:
    """A stack, a destination and the messages that will come."""

    def __init__(
        self,
        tempers: Mapping[str, Any],
        *,
        latency_ms: Callable[[str], int],
        now_ms: int = START_MS,
        weather: Callable[[int], str] = lambda _: "",
        machine: Machine | None = None,
    ) -> None:
        self.witness = _Witness()
        self.world = World(
            machine or deployed.machine(),
            Function(most_tries=20),
            {name: Event(name, temper=temper) for name, temper in tempers.items()},
            cast(Promises, self.witness),
            latency_ms=latency_ms,
            weather=weather,
            elements=element,
            now_ms=now_ms,
            tapes={},
        )
        self.witness.world = self.world
        self.world.deeds = self._deeds = dict[str, Callable[[World], None]]()

    def sends(self, event: str, body: str, after_ms: int) -> None:
        name = f"send {len(self._deeds)}"
        self._deeds[name] = lambda world: cast(None, world.send(event, body))
        self.world.schedule("deed", name, self.world.now_ms + after_ms)

    def play(self, choose: Choose = naturally) -> None:
        """Ends when nothing is left to do."""
        ends_ms = self.world.now_ms + _DAYS_MS
        while (due := self.world.next_due()) is not None:
            if due.at_ms > ends_ms:
                raise RuntimeError("There is no end.")
            self.world.now_ms = max(self.world.now_ms, due.at_ms)
            self.world.go(due, choose(self.world, due))
