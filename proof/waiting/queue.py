"""A standard queue of SQS and the pipe's pollers, as far as waiting meets them.

Of the queue: visibility, 120,000 in flight, receives and their maximum, 14 days. Of the pipe: five
pollers that take what is there, ten at most, and while something is left over up to 300 more a
minute, 1,000 in all. How soon AWS lets them go is not documented: here a minute after nothing is
left over.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from .kernel import Clock

VISIBILITY_MS = 480_000
MOST_RECEIVES = 1_000
RETENTION_MS = 14 * 86_400_000
BATCH = 10
_POLLERS, _MOST_POLLERS, _POLLER_EVERY_MS = 5, 1_000, 200
_KEPT_MS = 60_000


@dataclass(slots=True, eq=False)
class Event:
    """A logical event with its claim."""

    number: int
    subject: int
    occurred_ms: int
    kind: str
    # The claim
    holder: object = None
    lease_until_ms: int = 0
    tries: int = 0
    failed_at_ms: int | None = None
    outcome: str | None = None
    reason: str | None = None
    settled_ms: int = 0
    # What is measured
    calls: int = 0
    failed_calls: int = 0
    acts: int = 0
    rounds: int = 0
    rounds_first_hour: int = 0

    @property
    def key(self) -> str:
        """The event's key in the breaker's set."""
        return f"{self.number:016x}"


@dataclass(slots=True, eq=False)
class Message:
    """One message; several may carry the same event."""

    event: Event
    sent_ms: int
    receives: int = 0
    received_ms: int = 0
    return_ms: int | None = None
    dead_ms: int | None = None


class Queue:
    """The messages that are visible, in flight and dead."""

    def __init__(self, clock: Clock, in_flight_cap: int) -> None:
        self._clock = clock
        self._cap = in_flight_cap
        self.visible: deque[Message] = deque()
        self.in_flight = 0
        self.most_in_flight = 0
        self.most_receives = 0
        self.dead: list[Message] = []
        self.expired: list[Message] = []
        self.arrived: Callable[[], None] = lambda: None

    def send(self, *messages: Message) -> None:
        """Makes the message visible immediately."""
        self.visible.extend(messages)
        self.arrived()

    def receive(self, most: int) -> list[Message]:
        """Takes visible messages; none while too many are in flight."""
        taken: list[Message] = []
        while self.visible and len(taken) < most and self.in_flight < self._cap:
            message, now_ms = self.visible.popleft(), self._clock.now_ms
            if now_ms - message.sent_ms > RETENTION_MS:
                self.expired.append(message)
                continue
            if message.receives >= MOST_RECEIVES:
                message.dead_ms = now_ms
                self.dead.append(message)
                continue
            message.receives += 1
            message.received_ms = now_ms
            message.return_ms = None
            self.most_receives = max(self.most_receives, message.receives)
            self.in_flight += 1
            taken.append(message)
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        return taken

    def delete(self) -> None:
        """One that was in flight is settled."""
        self.in_flight -= 1

    def keep(self, message: Message) -> None:
        """It stays: seen again at its return time, or after the queue's own visibility."""
        at_ms = message.return_ms
        if at_ms is None:
            at_ms = message.received_ms + VISIBILITY_MS
        self._clock.at(at_ms, lambda: self._return(message))

    def _return(self, message: Message) -> None:
        self.in_flight -= 1
        self.send(message)

    @property
    def messages(self) -> int:
        return len(self.visible) + self.in_flight


class Pipe:
    """Gives batches to the machine, at most one per poller at the same time."""

    def __init__(self, clock: Clock, queue: Queue, batch_size: int) -> None:
        self._clock = clock
        self._queue = queue
        self._batch_size = batch_size
        self._pollers = _POLLERS
        self._busy = 0
        self._growing = False
        self._left_over_ms = 0
        self.batches = 0
        self.received = 0
        self.busy_ms = 0
        self.start_batch: Callable[[list[Message], Callable[[], None]], None]
        queue.arrived = self.poll

    def poll(self) -> None:
        """Gives the visible messages to the free pollers."""
        now_ms = self._clock.now_ms
        if self._pollers > _POLLERS and now_ms - self._left_over_ms > _KEPT_MS:
            self._pollers = max(_POLLERS, self._busy)
        while self._busy < self._pollers:
            messages = self._queue.receive(self._batch_size)
            if not messages:
                return
            self._busy += 1
            self.batches += 1
            self.received += len(messages)
            self.start_batch(messages, partial(self._free, now_ms))
        if self._queue.visible:
            self._left_over_ms = now_ms
            if not self._growing and self._pollers < _MOST_POLLERS:
                self._growing = True
                self._clock.at(now_ms + _POLLER_EVERY_MS, self._grow)

    def _grow(self) -> None:
        self._growing = False
        if self._queue.visible:
            self._pollers = min(_MOST_POLLERS, self._pollers + 1)
            self.poll()

    def _free(self, since_ms: int) -> None:
        self._busy -= 1
        self.busy_ms += self._clock.now_ms - since_ms
        self.poll()
