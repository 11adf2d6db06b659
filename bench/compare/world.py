"""A small world for the rivals: a queue, environments of a function, a store and a destination.

It has one clock and one seed, so a race ends the same way each time. Requests of different
environments interleave at each step of a handler.
"""

import heapq
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, NamedTuple

from bench.compare import streams
from bench.compare.rivals import Act, ActError, Delete, Environment, Get, Put, Rival, Row, Steps
from bench.compare.streams import Happening, Message, Stream
from bench.events import START_MS

STORE_MS = 5
ACT_MS = (20, 50, 50, 400)
# Neither EventBridge nor SQS keeps an order: most messages arrive within the first of these, one in
# ten within the second.
SPREAD_MS = (40, 400)
REPEAT_MS = 1_000  # after which a client of a store repeats a request without a response
VISIBILITY_MS = 120_000
MAX_RECEIVES = 5
CLOCK_MS = START_MS + 3_600_000  # all events are past by then


class Acted(NamedTuple):
    happening: Happening
    key: str
    at_ms: int


class Result(NamedTuple):
    """`kept` are the happenings that a queue still holds, for a person."""

    acts: list[Acted]
    kept: set[str]


class Faults:
    """Faults of the way to the destination. Each strikes its happening once."""

    def __init__(self) -> None:
        self._struck: set[tuple[str, str]] = set()
        self._requests: dict[str, int] = defaultdict(int)

    def strikes(self, fault: str, happening: Happening) -> bool:
        if happening.fault != fault or (fault, happening.name) in self._struck:
            return False
        self._struck.add((fault, happening.name))
        return True

    def reply(self, happening: Happening) -> str:
        """Returns what the destination does with the next request: act, lose, fail or reject."""
        number = self._requests[happening.name]
        self._requests[happening.name] += 1
        if happening.is_rejected:
            return "reject"
        return happening.replies[number] if number < len(happening.replies) else "act"


def delays_ms(stream: Stream, seed: int) -> list[int]:
    """Returns how long each message takes to its first receive, alike for all contestants."""
    draw = Random(f"{seed} {stream.name}")  # noqa: S311 - to be repeated, not to be guessed
    return [draw.randrange(SPREAD_MS[draw.random() < 0.1]) for _ in stream.messages]


@dataclass
class _Delivery:
    message: Message
    group: str
    receives: int = 0


@dataclass
class _Run:
    delivery: _Delivery
    environment: Environment
    steps: Steps
    is_second: bool = False  # of a message that was received twice at the same time


class World:
    def __init__(self, rival: Rival, stream: Stream, seed: int) -> None:
        self.now_ms = CLOCK_MS
        self.result = Result([], set())
        self._rival, self._faults = rival, Faults()
        self._draw = Random(f"{seed} {stream.name} {rival.letter}")  # noqa: S311
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._number = 0
        self._rows: dict[str, tuple[Row, int]] = {}
        self._names: dict[str, int] = {}
        self._idle: list[Environment] = []
        self._groups: dict[str, deque[_Delivery]] = defaultdict(deque)
        for message, delay_ms in zip(stream.messages, delays_ms(stream, seed), strict=True):
            self._after(message.send_ms + delay_ms, partial(self._send, message))

    def play(self) -> Result:
        while self._due:
            self.now_ms, _, happens = heapq.heappop(self._due)
            happens()
        return self.result

    def _after(self, ms: int, happens: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._due, (self.now_ms + ms, self._number, happens))

    # The queue.

    def _send(self, message: Message) -> None:
        rival, event = self._rival, message.event
        if rival.name:
            name = rival.name(event)
            if self.now_ms - self._names.get(name, -rival.remembers_ms) < rival.remembers_ms:
                return
            self._names[name] = self.now_ms
        delivery = _Delivery(message, rival.group(event) if rival.group else "")
        if delivery.group:
            waiting = self._groups[delivery.group]
            waiting.append(delivery)
            if len(waiting) > 1:
                return
        self._receive(delivery)

    def _receive(self, delivery: _Delivery, *, is_second: bool = False) -> None:
        happening = delivery.message.happening
        delivery.receives += 1
        if delivery.receives > MAX_RECEIVES:
            self.result.kept.add(happening.name)
            self._next_of_group(delivery)
            return
        environment = (
            self._idle.pop(self._draw.randrange(len(self._idle)))
            if self._idle
            else Environment(lambda: self.now_ms)
        )
        steps = self._rival.handle(delivery.message.event, environment)
        run = _Run(delivery, environment, steps, is_second)
        if self._is_queue and self._faults.strikes(streams.TWICE_AT_ONCE, happening):
            self._receive(delivery, is_second=True)
        self._go(run, None)

    @property
    def _is_queue(self) -> bool:
        """Returns true for a standard queue, which may deliver a message twice."""
        return self._rival.name is None

    def _end(self, run: _Run, *, is_done: bool, is_alive: bool = True) -> None:
        if is_alive:
            self._idle.append(run.environment)
        if run.is_second:
            return
        happening = run.delivery.message.happening
        if self._is_queue and self._faults.strikes(streams.AGAIN_LATER, happening):
            is_done = False
        if is_done:
            self._next_of_group(run.delivery)
        else:
            self._after(VISIBILITY_MS, partial(self._receive, run.delivery))

    def _next_of_group(self, delivery: _Delivery) -> None:
        if delivery.group:
            waiting = self._groups[delivery.group]
            waiting.popleft()
            if waiting:
                self._receive(waiting[0])

    # The handler.

    def _go(self, run: _Run, answer: Any) -> None:
        """The handler has an answer, and goes on to its next request."""
        try:
            if isinstance(answer, ActError):
                step = run.steps.throw(answer)
            else:
                step = run.steps.send(answer)
        except StopIteration:
            self._end(run, is_done=True)
            return
        except ActError:
            self._end(run, is_done=False)
            return
        if not isinstance(step, Act):
            self._after(STORE_MS, lambda: self._store(run, step))
        elif self._faults.strikes(streams.DIES_BEFORE_ACT, run.delivery.message.happening):
            self._end(run, is_done=False, is_alive=False)
        else:
            self._after(self._draw.choice(ACT_MS), lambda: self._act(run, step))

    def _store(self, run: _Run, step: Get | Put | Delete) -> None:
        row, until_ms = self._rows.get(step.key, (None, 0))
        row = row if self.now_ms < until_ms else None
        answer: Any = row
        if isinstance(step, Put):
            answer = step.condition(row)
            if answer:
                self._rows[step.key] = step.row, self.now_ms + step.ttl_ms
        elif isinstance(step, Delete):
            self._rows.pop(step.key, None)
        happening = run.delivery.message.happening
        if not isinstance(step, Get) and self._faults.strikes(streams.RESPONSE_LOST, happening):
            self._after(REPEAT_MS, lambda: self._store(run, step))
        else:
            self._go(run, answer)

    def _act(self, run: _Run, step: Act) -> None:
        happening = run.delivery.message.happening
        reply = self._faults.reply(happening)
        if reply in ("act", "lose"):
            self.result.acts.append(Acted(happening, step.idempotency_key, self.now_ms))
        if self._faults.strikes(streams.DIES_AFTER_ACT, happening):
            self._end(run, is_done=False, is_alive=False)
        else:
            self._go(run, None if reply == "act" else ActError(reply))
