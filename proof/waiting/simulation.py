"""One run: events that arrive, a destination, a stack; and what came of them."""

import random
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from once_pacing.limiter import Limiter
from once_pacing.settings import Settings
from once_pacing.times import Times

from .destination import Destination, well
from .kernel import Clock
from .machine import Faults, Machine
from .measure import Measures
from .queue import BATCH, Event, Message, Pipe, Queue
from .table import PaceTable

IN_FLIGHT_CAP = 120_000
SECOND, MINUTE, HOUR, DAY = 1_000, 60_000, 3_600_000, 86_400_000

Kind = Callable[[int, random.Random], str]


def good(number: int, rng: random.Random) -> str:  # noqa: ARG001
    """Every event acts."""
    return "good"


def every(kind: str) -> Kind:
    """All events are of this kind."""
    return lambda _number, _rng: kind


def poison(part: float) -> Kind:
    """So many of the events fail for good."""
    return lambda _number, rng: "poison" if rng.random() < part else "good"


@dataclass
class Arrivals:
    """So many events a second, at random moments, from a time to a time."""

    per_second: float
    until_ms: float
    from_ms: float = 0
    kind: Kind = good
    at_once: int = 1


@dataclass
class Run:
    """One stack through one time."""

    arrivals: Iterable[Arrivals]
    destination: Destination = well
    per_minute: int = 0
    batch_size: int = BATCH
    own_lambda: bool = False
    faults: Faults = field(default_factory=Faults)
    in_flight_cap: int = IN_FLIGHT_CAP
    backlog: int = 0
    copies: float = 0
    same_subject: float = 0
    seed: int = 1
    sample_ms: int = 0
    times: Times = field(default_factory=Times.of)
    machine_class: type[Machine] = Machine

    def __post_init__(self) -> None:
        self.clock, self.table, self.measures = Clock(), PaceTable(), Measures()
        self.queue = Queue(self.clock, self.in_flight_cap)
        self.pipe = Pipe(self.clock, self.queue, self.batch_size)
        self.rng = random.Random(self.seed)  # noqa: S311 — a run is to be repeated
        self.limiter = Limiter(self.per_minute) if self.per_minute else None
        self.machine = self.machine_class(
            self.clock,
            self.queue,
            self.pipe,
            self.table,
            self.destination,
            Settings(self.limiter, self.times),
            self.measures,
            self.rng,
            own_lambda=self.own_lambda,
            faults=self.faults,
        )
        self.events: list[Event] = []
        self.samples: list[dict[str, Any]] = []
        self.copies_sent = 0
        self._arriving = 0

    def until(self, end_ms: float, *, settled: bool = False) -> "Run":
        """Runs until that time, or with `settled` until all is settled before it."""
        if self.backlog:
            self._send(["good"] * self.backlog)
        for arrivals in self.arrivals:
            self._arriving += 1
            self.clock.start(self._arrive(arrivals))
        if self.sample_ms:
            self.clock.start(self._sample())
        busy = (lambda: bool(self._arriving or self.queue.messages)) if settled else None
        self.clock.run(round(end_ms), busy) if busy else self.clock.run(round(end_ms))
        return self

    def _arrive(self, arrivals: Arrivals) -> Generator[Any, Any, None]:
        rng = random.Random(f"{self.seed} {self._arriving}")  # noqa: S311
        gap_ms = 1_000 * arrivals.at_once / arrivals.per_second
        yield arrivals.from_ms
        due_ms = arrivals.from_ms
        while True:
            due_ms += rng.expovariate(1 / gap_ms)
            if due_ms > arrivals.until_ms:
                break
            yield due_ms - self.clock.now_ms
            first = len(self.events)
            self._send([arrivals.kind(first + at, rng) for at in range(arrivals.at_once)])
        self._arriving -= 1

    def _send(self, kinds: Sequence[str]) -> None:
        self.queue.send(*[self._message(kind) for kind in kinds])

    def _message(self, kind: str) -> Message:
        number, now = len(self.events), self.clock.now_ms
        subject = number
        if self.same_subject and self.events and self.rng.random() < self.same_subject:
            subject = self.events[-1].subject
        event = Event(number, subject, now, kind)
        self.events.append(event)
        if self.copies and self.rng.random() < self.copies:
            self.copies_sent += 1
            copy = Message(event, now + 20)
            self.clock.at(now + 20, lambda: self.queue.send(copy))
        return Message(event, now)

    def _sample(self) -> Generator[Any, Any, None]:
        while True:
            row = self.table.row
            self.samples.append(
                {
                    "ms": self.clock.now_ms,
                    "waiting": self.queue.messages,
                    "inFlight": self.queue.in_flight,
                    "acted": len(self.measures.acts),
                    "calls": len(self.measures.calls_ms),
                    "running": self.machine.running,
                    "open": bool(row and row.opened),
                }
            )
            yield self.sample_ms

    # What came of it

    def of_kind(self, kind: str) -> list[Event]:
        """All events of a kind."""
        return [event for event in self.events if event.kind == kind]

    def delays_ms(self, kind: str = "good") -> list[float]:
        """From the queue to the act, of those that acted."""
        return [
            event.settled_ms - event.occurred_ms
            for event in self.events
            if event.kind == kind and event.reason == "ACTED"
        ]

    def reasons(self) -> dict[str, int]:
        """Counts the settled events by reason, and those that still wait."""
        ended: dict[str, int] = {}
        for event in self.events:
            word = event.reason or "waiting"
            ended[word] = ended.get(word, 0) + 1
        return ended
