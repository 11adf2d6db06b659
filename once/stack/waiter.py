"""Waits for the outcomes of messages, by the outcome log: the only place that has them."""

import time
from collections.abc import Callable

from once.model.records import Record
from once.stack.log import OutcomeLog


class Waiter:
    """Reads the log again and again, and keeps the records of each message."""

    def __init__(
        self,
        log: OutcomeLog,
        poll_seconds: float = 1.0,
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], None] | None = None,
    ) -> None:
        self.records: dict[str, list[Record]] = {}
        """By the id of the first message, and by that of the envelope that went through a bus."""
        self._log = log
        self._poll_seconds = poll_seconds
        self._clock, self._sleep = clock or time.monotonic, sleep or time.sleep

    def wait(self, is_enough: Callable[[], bool], seconds: float) -> bool:
        """Returns true if it was enough before the time was over."""
        until = self._clock() + seconds
        while True:
            self.read()
            if is_enough():
                return True
            left = until - self._clock()
            if left <= 0:
                return False
            self._sleep(min(self._poll_seconds, left))

    def read(self) -> None:
        for record in self._log.read_new():
            for name in {record.message_id, record.envelope_id} - {None}:
                self.records.setdefault(str(name), []).append(record)

    def find_end(self, sent_id: str) -> Record | None:
        """Returns the record that settled a message."""
        return next((r for r in self.records.get(sent_id, ()) if r.is_settled), None)

    def find_last(self, sent_id: str) -> Record | None:
        """Returns the latest record of a message, settled or not."""
        return self.records.get(sent_id, [None])[-1]
