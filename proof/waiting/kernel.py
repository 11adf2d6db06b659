"""Time that passes as fast as it can be worked through.

Processes are generators that yield for how many milliseconds they wait, or the processes whose end
they wait for.
"""

import heapq
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

Process = Generator[Any, Any, Any]


@dataclass
class Together:
    """Runs processes, at most this many at the same time; to yield it waits for all of them."""

    processes: Sequence[Process]
    at_once: int


class Clock:
    """All that is going to happen, in its order."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._number = count()

    def at(self, time_ms: int, act: Callable[[], None]) -> None:
        """Acts then, or now where that has passed."""
        heapq.heappush(self._due, (max(time_ms, self.now_ms), next(self._number), act))

    def start(self, process: Process, done: Callable[[], None] | None = None) -> None:
        """Runs a process from now on."""

        def step() -> None:
            try:
                wanted = next(process)
            except StopIteration:
                if done:
                    done()
                return
            if isinstance(wanted, Together):
                self._together(wanted, step)
            else:
                self.at(self.now_ms + round(wanted), step)

        step()

    def run(self, until_ms: int, busy: Callable[[], bool] = lambda: True) -> None:
        """Runs until that time, or until nothing is left to do."""
        while self._due and self._due[0][0] <= until_ms and busy():
            self.now_ms, _, act = heapq.heappop(self._due)
            act()

    def _together(self, wanted: Together, resume: Callable[[], None]) -> None:
        waiting = deque(wanted.processes)
        left = len(waiting)
        if not left:
            self.at(self.now_ms, resume)
            return

        def ended() -> None:
            nonlocal left
            left -= 1
            if waiting:
                self.start(waiting.popleft(), ended)
            elif not left:
                resume()

        for _ in range(min(wanted.at_once, left)):
            if waiting:  # one that ends at once has begun the next itself
                self.start(waiting.popleft(), ended)
