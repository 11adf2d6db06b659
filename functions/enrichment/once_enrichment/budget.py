"""Bounds the processor time of one message, so that a hostile one costs its batch no more.

Every step takes linear time, so this is for what nobody thought of. The kernel counts the time, and
Python interrupts between two instructions, within a regular expression as well.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from types import FrameType

SECONDS = 1.0


class TooSlowError(BaseException):
    """The message used up its time. No `except Exception` on the way may take it for its own."""


@contextmanager
def bounded() -> Iterator[None]:
    """Raises TooSlowError in the block if that takes too long.

    Signals reach the main thread alone, where Lambda calls its handler; another is not watched.
    """
    if current_thread() is not main_thread():
        yield
        return
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, signal.SIG_IGN)  # one may be on its way


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise TooSlowError
