"""Sends lines into a stack and follows each one until it is settled."""

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from once.lines import Line
from once.model.records import Record
from once.stack.facade import Stack
from once.stack.sending import chain_by_claim, send_to_queue
from once.stack.waiter import Waiter

_QUEUE_SECONDS = 1.0
# A message leaves the queue before its outcome can be read in the log.
_QUIET_SECONDS = 10.0


@dataclass(frozen=True)
class Standing:
    """The progress of a delivery."""

    sent: int
    settled: int
    waiting: int
    """Lines whose event was put back."""
    seconds: float
    still_seconds: float
    """Since the last line was settled."""


class Delivery:
    """Sends lines and knows what became of each.

    `is_over` hears the standing after each look at the log, and ends the wait by returning true.
    """

    def __init__(
        self,
        stack: Stack,
        is_over: Callable[[Standing], bool],
        *,
        poll_seconds: float = 0.1,
        ends_when_quiet: bool = True,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`ends_when_quiet` takes an empty queue for the end: only an emulator counts exactly."""
        self._stack, self._is_over, self._clock = stack, is_over, clock
        self._waiter = Waiter(stack, poll_seconds, clock, sleep)
        self._ends_when_quiet = ends_when_quiet
        self._ids: dict[int, str] = {}
        """The messages by the numbers of their lines."""
        self._lines: dict[str, int] = {}
        self._unsettled: set[int] = set()
        self._began = self._moved = clock()
        self._looked = -math.inf
        self._quiet_since: float | None = None

    def send(self, lines: Iterable[Line]) -> None:
        """Sends all lines together, and does not wait."""
        for line, message_id in send_to_queue(self._stack, lines):
            self._ids[line.number] = message_id
            self._lines[message_id] = line.number
            self._unsettled.add(line.number)

    def send_in_steps(self, lines: Iterable[Line]) -> bool:
        """Sends a copy or newer state when the one before it is settled. Returns false if it was
        over before all are."""
        chains = chain_by_claim(lines)
        while chains:
            self.send(chain[0] for chain in chains if not self.is_sent(chain[0]))
            if not self._wait([chain[0] for chain in chains], any):
                return False
            for chain in chains:
                while chain and self._has_ended(chain[0]):
                    chain.popleft()
            chains = [chain for chain in chains if chain]
        return True

    def wait_for(self, lines: Sequence[Line]) -> bool:
        """Waits until these lines are settled or lost; returns false if it was over before."""
        return self._wait(lines, all)

    def is_sent(self, line: Line) -> bool:
        return line.number in self._ids

    def end_of(self, line: Line) -> Record | None:
        """Returns the record that settled the line's event, else its last one."""
        message_id = self._ids.get(line.number, "")
        last = self._waiter.records[message_id][-1:]
        return self._waiter.find_end(message_id) or next(iter(last), None)

    def line_of(self, message_id: str) -> int | None:
        """Returns the number of the line that went as this message."""
        return self._lines.get(message_id)

    def _wait(self, lines: Sequence[Line], is_enough: Callable[[Iterable[bool]], bool]) -> bool:
        ended = False

        def stop() -> bool:
            nonlocal ended
            # Also at the end, so that the progress that a person sees is complete.
            is_over = self._is_over(self._look())
            ended = is_enough(self._has_ended(line) for line in lines)
            return ended or is_over

        self._waiter.wait(stop, math.inf)
        return ended

    def _look(self) -> Standing:
        settled = {n for n in self._unsettled if self._waiter.find_end(self._ids[n])}
        self._unsettled -= settled
        now = self._clock()
        if settled:
            self._moved = now
        if self._ends_when_quiet and now - self._looked >= _QUEUE_SECONDS:
            self._looked = now
            is_empty = not self._stack.read_depth("EventQueueUrl").total
            self._quiet_since = (self._quiet_since or now) if is_empty else None
        return Standing(
            sent=len(self._ids),
            settled=len(self._ids) - len(self._unsettled),
            waiting=sum(bool(self._waiter.records[self._ids[n]]) for n in self._unsettled),
            seconds=now - self._began,
            still_seconds=now - self._moved,
        )

    def _has_ended(self, line: Line) -> bool:
        """A line of which nothing is left that could settle it has ended, too."""
        quiet = self._quiet_since
        is_quiet = quiet is not None and self._clock() - quiet >= _QUIET_SECONDS
        return self.is_sent(line) and (line.number not in self._unsettled or is_quiet)
