"""Bounds the processor time of one message, so that a hostile one costs its batch no more.

Every step takes linear time, so this is for what nobody thought of. The kernel counts the time, and
Python interrupts between two instructions, within a regular expression as well.
"""

import signal
from functools import cache
from threading import current_thread, main_thread
from types import FrameType

SECONDS = 1.0
_TICKS = (
    4  # one message may see so many go by; a timer of its own would cost each one a microsecond
)


class TooSlowError(BaseException):
    """The message used up its time. No `except Exception` on the way may take it for its own."""


class Budget:
    """Watches one message after the other, inside a `with` block.

    Signals reach the main thread alone, where Lambda calls its handler; another is not watched.
    """

    def __init__(self) -> None:
        self._is_running = False
        self._ticks = 0

    def __enter__(self) -> "Budget":
        if current_thread() is main_thread():
            _listen()
            _watching.append(self)
            signal.setitimer(signal.ITIMER_PROF, SECONDS / _TICKS, SECONDS / _TICKS)
        return self

    def __exit__(self, *_: object) -> None:
        if self in _watching:
            signal.setitimer(signal.ITIMER_PROF, 0)
            _watching.remove(self)

    def start(self) -> None:
        self._ticks = 0
        self._is_running = True

    def end(self) -> None:
        self._is_running = False

    def tick(self) -> None:
        self._ticks += 1
        if self._is_running and self._ticks > _TICKS:
            self._is_running = False
            raise TooSlowError


_watching: list[Budget] = []


@cache
def _listen() -> None:
    """Once: to change what a signal does costs a batch more than one of its messages."""
    signal.signal(signal.SIGPROF, _tick)


def _tick(_signal: int, _frame: FrameType | None) -> None:
    for budget in _watching:
        budget.tick()
