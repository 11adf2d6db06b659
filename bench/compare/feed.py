"""Brings the streams to a contestant, the same way for all: sends on time, receives as SQS does, in
no order and in batches of any size, hands some messages out twice, and notes how deliveries ended.
"""

import heapq
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

from bench.compare.streams import AGAIN_LATER, TWICE_AT_ONCE, Happening, Message

Received = dict[str, Any]
Deliver = Callable[[Sequence[Received]], frozenset[str]]

WORKERS = 12
BATCH = 10
POLLERS = 5  # with which Lambda and Pipes begin
POLL_SECONDS = 0.02
LATER_SECONDS = 1.0
QUIET_SECONDS = 2.0
_DEPTHS = [f"ApproximateNumberOfMessages{what}" for what in ("", "NotVisible", "Delayed")]


class Feed:
    """`known` tells the happening of a body; a body that is not in it only warms up."""

    def __init__(
        self,
        sqs: Any,
        url: str,
        deliver: Deliver,
        known: Mapping[str, Happening],
        *,
        seed: int,
        fifo: bool = False,
    ) -> None:
        self.troubled: set[str] = set()
        self._sqs, self._url, self._deliver, self._known = sqs, url, deliver, known
        self._random = Random(seed)  # noqa: S311 - to be repeated, not to be guessed
        self._fifo = fifo
        self._pool = ThreadPoolExecutor(WORKERS)
        self._slots = threading.Semaphore(WORKERS)
        self._lock = threading.Lock()
        self._repeated: set[str] = set()
        self._open: dict[str, str] = {}  # messages that were sent and not deleted yet
        self._deleted: set[str] = set()
        self._later: list[tuple[float, str, Received]] = []
        self._running = 0

    def run(
        self,
        messages: Iterable[Message],
        queued: Callable[[Message], dict[str, str]],
        sent: Callable[[Message, str], None],
        seconds: float,
    ) -> set[str]:
        """Runs until the queue is empty, or `seconds` after the last message was sent. Returns the
        happenings that the queue, or its dead-letter queue, still has.
        """
        sender = threading.Thread(target=self._send, args=(messages, queued, sent))
        sender.start()
        ends = quiet_since = None
        with self._pool:
            while True:
                now = time.monotonic()
                if not sender.is_alive():
                    ends = ends or now + seconds
                    quiet_since = (quiet_since or now) if self._is_quiet() else None
                    if now > ends or (quiet_since and now - quiet_since > QUIET_SECONDS):
                        break
                self._take(now)
                time.sleep(POLL_SECONDS)
        return set(self._open.values())

    def _send(
        self,
        messages: Iterable[Message],
        queued: Callable[[Message], dict[str, str]],
        sent: Callable[[Message, str], None],
    ) -> None:
        began = time.monotonic()
        due = sorted(messages, key=lambda message: message.send_ms)
        while due:
            now_ms = (time.monotonic() - began) * 1000
            ready = [message for message in due[:10] if message.send_ms <= now_ms]
            if not ready:
                time.sleep(0.005)
                continue
            due = due[len(ready) :]
            entries = [{"Id": str(at), **queued(message)} for at, message in enumerate(ready)]
            answer = self._sqs.send_message_batch(QueueUrl=self._url, Entries=entries)
            for entry in answer["Successful"]:
                message = ready[int(entry["Id"])]
                sent(message, entry["MessageId"])
                with self._lock:
                    if entry["MessageId"] not in self._deleted:
                        self._open[entry["MessageId"]] = message.happening.name

    def _take(self, now: float) -> None:
        received: list[Received] = []
        while len(received) < BATCH * WORKERS:
            answer = self._sqs.receive_message(
                QueueUrl=self._url, MaxNumberOfMessages=BATCH, AttributeNames=["All"]
            )
            received += answer.get("Messages", [])
            if len(answer.get("Messages", [])) < BATCH:
                break
        with self._lock:
            for message in received:
                if message["Body"] in self._known and message["MessageId"] not in self._deleted:
                    # It may have returned to the queue, and been received again since.
                    self._open[message["MessageId"]] = self._known[message["Body"]].name
        for batch in self._batches(received):
            self._start(batch)
        for message in received:
            if self._repeats(message, TWICE_AT_ONCE):
                self._start([message])
        with self._lock:
            due = []
            while self._later and self._later[0][0] <= now:
                due.append(heapq.heappop(self._later)[2])
        for message in due:
            self._start([message])

    def _batches(self, received: list[Received]) -> Iterable[list[Received]]:
        """Cuts batches as several pollers get them, each of one stream, so that no trouble spreads
        to another's events. A FIFO queue keeps the order of its groups.
        """
        if not self._fifo:
            self._random.shuffle(received)
        shares: dict[tuple[str, int], list[Received]] = {}
        for message in received:
            happening = self._known.get(message["Body"])
            poller = 0 if self._fifo else self._random.randrange(POLLERS)
            share = (happening.stream if happening else "", poller)
            shares.setdefault(share, []).append(message)
        for own in shares.values():
            for first in range(0, len(own), BATCH):
                yield own[first : first + BATCH]

    def _repeats(self, message: Received, fault: str) -> bool:
        happening = self._known.get(message["Body"])
        if self._fifo or happening is None or happening.fault != fault:
            return False
        with self._lock:
            first = message["MessageId"] not in self._repeated
            self._repeated.add(message["MessageId"])
            return first

    def _start(self, batch: Sequence[Received]) -> None:
        self._slots.acquire()
        with self._lock:
            self._running += 1
        self._pool.submit(self._work, batch)

    def _work(self, batch: Sequence[Received]) -> None:
        try:
            done = self._deliver(batch)
        finally:
            self._slots.release()
            with self._lock:
                self._running -= 1
        with self._lock:
            self._deleted |= done
            for message_id in done:
                self._open.pop(message_id, None)
        for message in batch:
            happening = self._known.get(message["Body"])
            with self._lock:
                if happening is not None and message["MessageId"] not in done:
                    self.troubled.add(happening.name)
            if self._repeats(message, AGAIN_LATER):
                entry = (time.monotonic() + LATER_SECONDS, message["MessageId"], message)
                with self._lock:
                    heapq.heappush(self._later, entry)

    def _is_quiet(self) -> bool:
        with self._lock:
            if self._running or self._later:
                return False
        answer = self._sqs.get_queue_attributes(QueueUrl=self._url, AttributeNames=_DEPTHS)
        return not any(int(depth) for depth in answer["Attributes"].values())
