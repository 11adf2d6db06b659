"""A small world for the rivals: a queue, environments of a function, a store and a destination.

It has one clock and one seed, so a race ends the same way each time. Requests of different
environments interleave at each step of a handler.
"""

import heapq
from collections import defaultdict, deque
from collections.abc import Generator
from random import Random
from typing import Any, NamedTuple

from bench.compare.rivals import Act, ActError, Delete, Environment, Get, Put, Rival, Row
from bench.compare.streams import Fault, Happening, Message, Stream
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
    """Strikes each happening with its fault, once."""

    def __init__(self) -> None:
        self._struck: set[str] = set()
        self._requests: dict[str, int] = defaultdict(int)

    def strikes(self, fault: Fault, happening: Happening) -> bool:
        if happening.fault is not fault or happening.name in self._struck:
            return False
        self._struck.add(happening.name)
        return True

    def reply(self, happening: Happening) -> str:
        """Returns what the destination does with the next request: act, lose, fail or reject."""
        self._requests[happening.name] += 1
        match happening.fault, self._requests[happening.name]:
            case Fault.REJECTED, _:
                return "reject"
            case Fault.DOWN_TWICE, 1 | 2:
                return "fail"
            case Fault.ACT_UNHEARD, 1:
                return "lose"
        return "act"


def delays_ms(stream: Stream, seed: int) -> list[int]:
    """Returns how long each message takes to its first receive, alike for all contestants."""
    draw = Random(f"{seed} {stream.name}")  # noqa: S311 - to be repeated, not to be guessed
    return [draw.randrange(SPREAD_MS[draw.random() < 0.1]) for _ in stream.messages]


Process = Generator[int, None, Any]  # yields milliseconds to pass


class World:
    def __init__(self, rival: Rival, stream: Stream, seed: int) -> None:
        self.now_ms = CLOCK_MS
        self.result = Result([], set())
        self._rival, self._faults = rival, Faults()
        self._draw = Random(f"{seed} {stream.name} {rival.letter}")  # noqa: S311
        self._due: list[tuple[int, int, Process]] = []
        self._begun = 0
        self._rows: dict[str, tuple[Row, int]] = {}
        self._names: dict[str, int] = {}
        self._idle: list[Environment] = []
        self._lines: dict[str, deque[Message]] = defaultdict(deque)
        for message, delay_ms in zip(stream.messages, delays_ms(stream, seed), strict=True):
            self._begin(self._send(message), message.send_ms + delay_ms)

    def play(self) -> Result:
        while self._due:
            self.now_ms, number, process = heapq.heappop(self._due)
            if (wait_ms := next(process, None)) is not None:
                heapq.heappush(self._due, (self.now_ms + wait_ms, number, process))
        return self.result

    def _begin(self, process: Process, after_ms: int) -> None:
        self._begun += 1
        heapq.heappush(self._due, (self.now_ms + after_ms, self._begun, process))

    def _send(self, message: Message) -> Process:
        """Delivers a message, unless its name is known; those of a group one after the other."""
        rival = self._rival
        if rival.name:
            name = rival.name(message.event)
            if self.now_ms - self._names.get(name, -rival.remembers_ms) < rival.remembers_ms:
                return
            self._names[name] = self.now_ms
        line = self._lines[rival.group(message.event)] if rival.group else deque[Message]()
        line.append(message)
        if len(line) > 1:
            return
        while line:
            yield from self._deliver(line[0])
            line.popleft()

    def _deliver(self, message: Message) -> Process:
        # A standard queue may deliver a message twice, one with names does not.
        is_standard, happening = self._rival.name is None, message.happening
        for _ in range(MAX_RECEIVES):
            if is_standard and self._faults.strikes(Fault.TWICE_AT_ONCE, happening):
                self._begin(self._run(message), 0)
            is_done = yield from self._run(message)
            if is_standard and self._faults.strikes(Fault.AGAIN_LATER, happening):
                is_done = False
            if is_done:
                return
            yield VISIBILITY_MS
        self.result.kept.add(happening.name)

    def _run(self, message: Message) -> Process:
        """Runs the handler. Returns true if it did not fail, so that the message is deleted."""
        happening, faults = message.happening, self._faults
        environment = (
            self._idle.pop(self._draw.randrange(len(self._idle)))
            if self._idle
            else Environment(lambda: self.now_ms)
        )
        steps = self._rival.handle(message.event, environment)
        is_done, answer = True, None
        while True:
            try:
                is_error = isinstance(answer, ActError)
                step = steps.throw(answer) if is_error else steps.send(answer)
            except StopIteration:
                break
            except ActError:
                is_done = False
                break
            if isinstance(step, Act):
                if faults.strikes(Fault.DIES_BEFORE_ACT, happening):
                    return False
                yield self._draw.choice(ACT_MS)
                reply = faults.reply(happening)
                if reply in ("act", "lose"):
                    self.result.acts.append(Acted(happening, step.idempotency_key, self.now_ms))
                if faults.strikes(Fault.DIES_AFTER_ACT, happening):
                    return False
                answer = None if reply == "act" else ActError(reply)
            else:
                yield STORE_MS
                answer = self._store(step)
                if isinstance(step, Put | Delete) and faults.strikes(
                    Fault.STORE_UNHEARD, happening
                ):
                    yield REPEAT_MS
                    answer = self._store(step)
        self._idle.append(environment)
        return is_done

    def _store(self, step: Get | Put | Delete) -> Any:
        row, until_ms = self._rows.get(step.key, (None, 0))
        row = row if self.now_ms < until_ms else None
        match step:
            case Put():
                is_met = step.condition(row)
                if is_met:
                    self._rows[step.key] = step.row, self.now_ms + step.ttl_ms
                return is_met
            case Delete():
                self._rows.pop(step.key, None)
        return row
