"""Bounds the processor time of one message, so that a hostile one costs its batch no more.

Every step takes linear time, so this is for what nobody thought of. The kernel counts the time, and
Python interrupts between two instructions, within a regular expression as well.
"""

import signal
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
        self._is_watching = self._is_running = False
        self._ticks = 0

    def __enter__(self) -> "Budget":
        try:
            self._before = signal.signal(signal.SIGPROF, self._tick)
        except ValueError:  # not the main thread
            return self
        self._is_watching = True
        signal.setitimer(signal.ITIMER_PROF, SECONDS / _TICKS, SECONDS / _TICKS)
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_watching:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, self._before)

    def start(self) -> None:
        self._ticks = 0
        self._is_running = True

    def end(self) -> None:
        self._is_running = False

    def _tick(self, _signal: int, _frame: FrameType | None) -> None:
        self._ticks += 1
        if self._is_running and self._ticks > _TICKS:
            self._is_running = False
            raise TooSlowError
