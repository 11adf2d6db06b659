"""Simulates into which batches a pipe cuts a rate of events, and what becomes of copies.

`python -m proof.pollers` writes the results to once/plan/batches.json, which `once cost` reads.

A pipe polls a queue with five pollers; while messages are left over it adds 300 a minute, up to a
quota (docs.aws.amazon.com/eventbridge/latest/userguide/eb-pipes-sqs.html, "Scaling and
processing"). When it takes them away again is documented nowhere: here it keeps them. So a pipe
that keeps up has a poller free for each message, and hands it on alone.
"""

import heapq
import json
import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from itertools import count

from once.plan.traffic import (
    BATCH_SIZE,
    BATCHES,
    FIRST_POLLERS,
    Flow,
    Measured,
    Pipe,
    Traffic,
    pipe_of,
    prices,
)

_RATES = (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000)
_WINDOWS = (0, 1, 5, 30)
_MESSAGES = 12_000
_WARM_UP = 4_000
_ADDED_EVERY_S = 60 / 300
_FATES = ("collapsed", "held", "settled")


@dataclass(eq=False)
class _Message:
    arrived_s: float
    event: int


@dataclass(eq=False)
class _Poller:
    taken: list[_Message] = field(default_factory=list)


@dataclass
class _Tally:
    batches: int = 0
    messages: int = 0
    queued_s: float = 0
    fates: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_FATES, 0))


@lru_cache(maxsize=256)
def flow(rate: float, copies: float, apart_ms: float, pipe: Pipe, seed: int = 1) -> Flow:
    """Simulates `rate` messages per second, `copies` of them up to `apart_ms` after their first."""
    return _Run(rate, copies, apart_ms, pipe, random.Random(seed)).flow()  # noqa: S311


def as_text() -> str:
    """Returns batches.json: a flow per window and rate, with copies and times as assumed."""
    measured, price = Measured.read(), prices()
    apart_ms = price["assumed"]["apart_ms"]
    lines = []
    for window_s in _WINDOWS:
        for rate in _RATES:
            traffic = Traffic(events=1, per_second=rate, window_s=window_s)
            found = flow(rate, traffic.copies, apart_ms, pipe_of(traffic, measured, price))
            rounded = {name: round(value, 4) for name, value in asdict(found).items()}
            line = {"windowSeconds": window_s, "perSecond": rate, "flow": rounded}
            lines.append(json.dumps(line))
    return "[\n" + ",\n".join(lines) + "\n]\n"


class _Run:
    def __init__(
        self, rate: float, copies: float, apart_ms: float, pipe: Pipe, chance: random.Random
    ) -> None:
        self._pipe, self._chance = pipe, chance
        self._messages = _arrivals(rate, copies, apart_ms, chance)
        # As after a long time at this rate, so that what is counted is no start.
        wanted = math.ceil(rate * (pipe.around_s + pipe.machine_s + pipe.event_s))
        self._pollers = min(pipe.most_pollers, max(FIRST_POLLERS, wanted))
        self._free = [_Poller() for _ in range(self._pollers)]
        self._gathering: list[_Poller] = []
        self._left: deque[_Message] = deque()
        self._added_s = 0.0
        self._agenda: list[tuple[float, int, Callable[[float], None]]] = []
        self._order = count()
        self._done: dict[int, float] = {}
        self._tally = _Tally()

    def flow(self) -> Flow:
        for message in self._messages:
            while self._agenda and self._agenda[0][0] <= message.arrived_s:
                at_s, _, act = heapq.heappop(self._agenda)
                act(at_s)
            self._arrive(message)
        while self._agenda:
            at_s, _, act = heapq.heappop(self._agenda)
            act(at_s)
        tally = self._tally
        copies = max(1, sum(tally.fates.values()))
        shares = {fate: tally.fates[fate] / copies for fate in _FATES}
        return Flow(
            batch=tally.messages / tally.batches,
            pollers=self._pollers,
            queued_s=tally.queued_s / tally.messages,
            **shares,
        )

    def _later(self, at_s: float, act: Callable[[float], None]) -> None:
        heapq.heappush(self._agenda, (at_s, next(self._order), act))

    def _arrive(self, message: _Message) -> None:
        now_s = message.arrived_s
        waiting = len(self._free) + len(self._gathering)
        if not waiting:
            self._left.append(message)
            self._add_poller(now_s)
            return
        # Every poller with room polls SQS, and any of them may get the message.
        at = self._chance.randrange(waiting)
        if at < len(self._gathering):
            poller = self._gathering[at]
        else:
            poller = self._free.pop(at - len(self._gathering))
        self._take(poller, [message], now_s)

    def _take(self, poller: _Poller, messages: list[_Message], now_s: float) -> None:
        first = not poller.taken
        poller.taken += messages
        if len(poller.taken) >= BATCH_SIZE or not self._pipe.window_s:
            if poller in self._gathering:
                self._gathering.remove(poller)
            self._hand_on(poller, now_s)
        elif first:
            self._gathering.append(poller)
            batch = poller.taken
            self._later(now_s + self._pipe.window_s, lambda at_s: self._close(poller, batch, at_s))

    def _close(self, poller: _Poller, batch: list[_Message], now_s: float) -> None:
        if poller.taken is batch:
            self._gathering.remove(poller)
            self._hand_on(poller, now_s)

    def _hand_on(self, poller: _Poller, now_s: float) -> None:
        batch, poller.taken = poller.taken, []
        counts = batch[0].arrived_s >= self._messages[_WARM_UP].arrived_s
        slots, seen = [now_s] * self._pipe.at_once, set()
        for one in batch:
            fate = "collapsed"
            if one.event not in seen:
                seen.add(one.event)
                begins_s = heapq.heappop(slots)
                fate, takes_s = self._settle(one, begins_s)
                heapq.heappush(slots, begins_s + takes_s)
            if counts and fate in _FATES:
                self._tally.fates[fate] += 1
        machine_s = self._pipe.machine_s + max(slots) - now_s
        takes_s = self._pipe.around_s + machine_s
        if counts:
            self._tally.batches += 1
            self._tally.messages += len(batch)
            self._tally.queued_s += sum(now_s - one.arrived_s for one in batch)
        self._later(now_s + takes_s, lambda at_s: self._end(poller, at_s))

    def _settle(self, one: _Message, begins_s: float) -> tuple[str, float]:
        """Settles a message in the machine, and returns its outcome and time."""
        done_s = self._done.get(one.event)
        if done_s is None:
            self._done[one.event] = begins_s + self._pipe.event_s
            return "first", self._pipe.event_s
        if done_s <= begins_s:
            return "settled", self._pipe.copy_s
        return "held", self._pipe.copy_s + self._pipe.wait_s(done_s - begins_s)

    def _end(self, poller: _Poller, now_s: float) -> None:
        if not self._left:
            self._free.append(poller)
            return
        some = [self._left.popleft() for _ in range(min(len(self._left), BATCH_SIZE))]
        if self._left:
            self._add_poller(now_s)
        self._take(poller, some, now_s)

    def _add_poller(self, now_s: float) -> None:
        if self._pollers < self._pipe.most_pollers and now_s >= self._added_s + _ADDED_EVERY_S:
            self._added_s, self._pollers = now_s, self._pollers + 1
            self._end(_Poller(), now_s)


def _arrivals(rate: float, copies: float, apart_ms: float, chance: random.Random) -> list[_Message]:
    messages: list[_Message] = []
    at_s, event = 0.0, 0
    while len(messages) < _MESSAGES:
        event += 1
        at_s += chance.expovariate(rate * (1 - copies))
        messages.append(_Message(at_s, event))
        while chance.random() < copies:
            later_s = chance.uniform(min(1.0, apart_ms), apart_ms) / 1000
            messages.append(_Message(at_s + later_s, event))
    return sorted(messages, key=lambda message: message.arrived_s)


if __name__ == "__main__":
    BATCHES.write_text(as_text())
