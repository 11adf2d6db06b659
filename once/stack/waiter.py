"""Waits for what becomes of messages, by the outcome log: the only place that says it."""

import time
from collections.abc import Callable

from once.records import OutcomeLog, OutcomeRecord, settled


class Waiter:
    """Reads the log again and again, and keeps what it says of each message."""

    def __init__(
        self,
        log: OutcomeLog,
        poll_seconds: float = 1.0,
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], None] | None = None,
    ) -> None:
        self.records: dict[str, list[OutcomeRecord]] = {}
        """By the id of the message, and by that of the envelope that went through a bus."""
        self._log = log
        self._poll_seconds = poll_seconds
        self.clock, self._sleep = clock or time.monotonic, sleep or time.sleep

    def wait(self, is_enough: Callable[[], bool], seconds: float) -> bool:
        """Returns whether it was enough before the time was over."""
        until = self.clock() + seconds
        while True:
            self.read()
            if is_enough():
                return True
            left = until - self.clock()
            if left <= 0:
                return False
            self._sleep(min(self._poll_seconds, left))

    def read(self) -> None:
        for record in self._log.new():
            for name in {record.message_id, record.envelope_id} - {None}:
                self.records.setdefault(str(name), []).append(record)

    def end_of(self, sent_id: str) -> OutcomeRecord | None:
        """Returns the record that settled a message."""
        return settled(sent_id, self.records)

    def last_of(self, sent_id: str) -> OutcomeRecord | None:
        """Returns the latest record of a message, settled or not."""
        return self.records.get(sent_id, [None])[-1]
