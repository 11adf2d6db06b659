"""Waits for the outcomes of messages, by the outcome log: the only place that has them."""

import time
from collections import defaultdict
from collections.abc import Callable

from once.model.records import Record
from once.stack.facade import Stack, read_clock_ms
from once.stack.log import OutcomeLog

_CLOCKS_APART_MS = 60_000  # of this machine and of AWS


class Waiter:
    """Reads the log again and again, and keeps the records of each message."""

    def __init__(
        self,
        stack: Stack,
        poll_seconds: float,
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], None] | None = None,
    ) -> None:
        self.records: dict[str, list[Record]] = defaultdict(list)
        """By the id of the first message."""
        since_ms = read_clock_ms() - _CLOCKS_APART_MS
        self._log = OutcomeLog(stack.client, stack.outputs, since_ms)
        self._poll_seconds = poll_seconds
        self._clock, self._sleep = clock or time.monotonic, sleep or time.sleep

    def wait(self, is_enough: Callable[[], bool], seconds: float) -> bool:
        """Returns true if it was enough before the time was over."""
        until = self._clock() + seconds
        while True:
            for record in self._log.read_new():
                self.records[record.message_id].append(record)
            if is_enough():
                return True
            left = until - self._clock()
            if left <= 0:
                return False
            self._sleep(min(self._poll_seconds, left))

    def find_end(self, message_id: str) -> Record | None:
        """Returns the record that settled a message."""
        ends = (record for record in self.records[message_id] if record.is_settled)
        # SETTLED_BEFORE repeats an outcome without its reason.
        return min(ends, key=lambda end: end.reason == "SETTLED_BEFORE", default=None)
