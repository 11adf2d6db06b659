"""Into which batches a pipe cuts a rate of events, and what becomes of copies on the way.

Simulated, with pollers as AWS documents them.

A pipe polls a queue with five pollers; while messages are left over it adds 300 a minute, up to a
quota (docs.aws.amazon.com/eventbridge/latest/userguide/eb-pipes-sqs.html, "Scaling and
processing"). When it takes them away again is documented nowhere: here it keeps them. So a pipe
that keeps up has a poller free for each message, and hands it on alone.
"""

import heapq
import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count

_MESSAGES = 12_000
_WARM_UP = 4_000
_ADDED_EVERY_S = 60 / 300
FIRST_POLLERS = 5
_FATES = ("collapsed", "held", "handed_back", "settled")


@dataclass(frozen=True)
class Pipe:
    """What decides the batches, and how long each takes: so many events at once, each its time."""

    batch_size: int
    window_s: float
    most_pollers: int
    at_once: int
    around_s: float  # of a batch, outside of the machine
    machine_s: float  # of a batch in the machine, beside its events
    event_s: float  # of an event that acts
    copy_s: float  # of a copy that meets a settled claim
    looks_s: tuple[float, ...]  # after which a copy of an event in work looks at its claim again
    bills_s: float  # in steps of which the machine's time is billed

    def billed(self, machine_s: float) -> float:
        return math.ceil(round(machine_s / self.bills_s, 6)) * self.bills_s

    def backlog(self, copies: float, same_batch: float) -> "Flow":
        """More waits than is taken: full batches, and copies in the next one or in their own."""
        settled = self.batch_size * (1 - copies * same_batch)
        turns_s = math.ceil(settled / self.at_once) * self.event_s
        meets = 1 - (1 - copies * (1 - same_batch)) ** self.batch_size
        waits_s = max(0.0, self.copy_s + self.looks_s[0] - turns_s)
        quick, slow = (self.machine_s + turns_s + more for more in (0.0, waits_s))
        return Flow(
            batch=self.batch_size,
            collapsed=same_batch,
            held=1 - same_batch,
            handed_back=0,
            settled=0,
            batch_s=self.around_s + quick + meets * waits_s,
            billed_s=(1 - meets) * self.billed(quick) + meets * self.billed(slow),
            pollers=FIRST_POLLERS,
            queued_s=math.inf,
        )


@dataclass(frozen=True)
class Flow:
    """What comes of it. The shares are of the copies."""

    batch: float
    collapsed: float  # in the batch of its first
    held: float  # met its first in work, and waited for it
    handed_back: float  # of those, not settled by the last look
    settled: float  # came after its first was done
    batch_s: float  # from poll to report
    billed_s: float  # of it, in the machine
    pollers: int
    queued_s: float  # mean, until its batch was handed on


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
    batch_s: float = 0
    billed_s: float = 0
    fates: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_FATES, 0))


@lru_cache(maxsize=256)
def flow(rate: float, copies: float, apart_ms: float, pipe: Pipe, seed: int = 1) -> Flow:
    """Of `rate` messages a second, of which `copies` come up to `apart_ms` after their first."""
    return _Run(rate, copies, apart_ms, pipe, random.Random(seed)).flow()  # noqa: S311


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
            batch_s=tally.batch_s / tally.batches,
            billed_s=tally.billed_s / tally.batches,
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
        # Every poller that has room asks SQS, and any of them may be answered.
        at = self._chance.randrange(waiting)
        if at < len(self._gathering):
            poller = self._gathering[at]
        else:
            poller = self._free.pop(at - len(self._gathering))
        self._take(poller, [message], now_s)

    def _take(self, poller: _Poller, messages: list[_Message], now_s: float) -> None:
        first = not poller.taken
        poller.taken += messages
        if len(poller.taken) >= self._pipe.batch_size or not self._pipe.window_s:
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
            self._tally.batch_s += takes_s
            self._tally.billed_s += self._pipe.billed(machine_s)
            self._tally.queued_s += sum(now_s - one.arrived_s for one in batch)
        self._later(now_s + takes_s, lambda at_s: self._end(poller, at_s))

    def _settle(self, one: _Message, begins_s: float) -> tuple[str, float]:
        """What becomes of a message in the machine, and how long it takes."""
        done_s = self._done.get(one.event)
        if done_s is None:
            self._done[one.event] = begins_s + self._pipe.event_s
            return "first", self._pipe.event_s
        if done_s <= begins_s:
            return "settled", self._pipe.copy_s
        for look_s in self._pipe.looks_s:
            if begins_s + look_s >= done_s:
                return "held", self._pipe.copy_s + look_s
        return "handed_back", self._pipe.copy_s + self._pipe.looks_s[-1]

    def _end(self, poller: _Poller, now_s: float) -> None:
        if not self._left:
            self._free.append(poller)
            return
        some = [self._left.popleft() for _ in range(min(len(self._left), self._pipe.batch_size))]
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
