"""Sends lines into a stack and follows each one until it is settled.

A line goes to the queue in the form in which the rule delivers events; the outcome log is the only
place that has its outcome.
"""

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from botocore.exceptions import ClientError
from once_enrichment.handler import normalise

from once.errors import OnceError
from once.lines import Line
from once.model.records import Record
from once.stack.facade import Stack, read_clock_ms
from once.stack.log import OutcomeLog

_BATCH = 10
_BATCH_BYTES = 900_000
_CLOCKS_APART_MS = 60_000  # of this machine and of AWS
_T = TypeVar("_T")


class Sent(NamedTuple):
    """A line on its way, with the id of its message."""

    line: Line
    message_id: str


def send_to_queue(stack: Stack, lines: Iterable[Line]) -> Iterator[Sent]:
    """Yields each line that was sent; OnceError names one that SQS refuses."""
    for batch in batches(lines, lambda line: len(line.text.encode())):
        entries = [{"Id": str(n), "MessageBody": line.text} for n, line in enumerate(batch)]
        try:
            answer = stack.client("sqs").send_message_batch(
                QueueUrl=stack.outputs["EventQueueUrl"], Entries=entries
            )
        except ClientError as error:
            raise _refused(batch[0], batch[-1], str(error)) from error
        for entry in answer.get("Successful", []):
            yield Sent(batch[int(entry["Id"])], entry["MessageId"])
        for failed in answer.get("Failed", []):
            line = batch[int(failed["Id"])]
            raise _refused(line, line, failed.get("Message", failed["Code"]))


def _chain_by_claim(lines: Iterable[Line]) -> list[deque[Line]]:
    """Returns copies, and the states of one thing, one by one: no other line depends on them."""
    chains: dict[object, deque[Line]] = defaultdict(deque)
    for line in lines:
        sent = {"SentTimestamp": str(read_clock_ms())}
        element = normalise({"messageId": "-", "body": line.text, "attributes": sent})
        key = element["key"]
        chains[key["pk"], element["policy"].get("latest", key["sk"])].append(line)
    return list(chains.values())


def batches(items: Iterable[_T], measure: Callable[[_T], int]) -> Iterator[Sequence[_T]]:
    """Yields what one request to SQS takes; `measure` returns the bytes of an item."""
    batch: list[_T] = []
    size = 0
    for item in items:
        length = measure(item)
        if batch and (len(batch) == _BATCH or size + length > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += length
    if batch:
        yield batch


def _refused(first: Line, last: Line, why: str) -> OnceError:
    lines = f"line {first.number}" if first is last else f"lines {first.number} to {last.number}"
    return OnceError(
        f"SQS refused {lines}: {why}\n"
        "A message is at most 1 MiB and has no control characters but tab and line ends. Lines "
        "before it, and some after it, are sent; sent again, they are skipped as copies."
    )


class Waiter:
    """Reads the log again and again, and keeps the records of each message."""

    def __init__(self, stack: Stack, poll_seconds: float) -> None:
        self.records: dict[str, list[Record]] = defaultdict(list)
        """By the id of the first message."""
        since_ms = read_clock_ms() - _CLOCKS_APART_MS
        self._log = OutcomeLog(stack.client, stack.outputs, since_ms)
        self._poll_seconds = poll_seconds

    def wait(self, is_enough: Callable[[], bool], seconds: float) -> bool:
        """Returns true if it was enough before the time was over."""
        until = time.monotonic() + seconds
        while True:
            for record in self._log.read_new():
                self.records[record.first_message_id].append(record)
            if is_enough():
                return True
            left = until - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(self._poll_seconds, left))

    def find_end(self, message_id: str) -> Record | None:
        """Returns the record that settled a message."""
        ends = (record for record in self.records[message_id] if record.is_settled)
        # SETTLED_BEFORE repeats an outcome without its reason.
        return min(ends, key=lambda end: end.reason == "SETTLED_BEFORE", default=None)


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

    def __init__(self, stack: Stack, is_over: Callable[[Standing], bool]) -> None:
        self._stack, self._is_over = stack, is_over
        self._waiter = Waiter(stack, poll_seconds=0.1 if stack.is_local else 1.0)
        self._ids: dict[int, str] = {}
        """The messages by the numbers of their lines."""
        self._lines: dict[str, int] = {}
        self._unsettled: set[int] = set()
        self._began = self._moved = time.monotonic()

    def send(self, lines: Iterable[Line]) -> None:
        """Sends all lines together, and does not wait."""
        for line, message_id in send_to_queue(self._stack, lines):
            self._ids[line.number] = message_id
            self._lines[message_id] = line.number
            self._unsettled.add(line.number)

    def send_in_steps(self, lines: Iterable[Line]) -> bool:
        """Sends a copy or newer state when the one before it is settled. Returns false if it was
        over before all are."""
        chains = _chain_by_claim(lines)
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
        """Waits until these lines are settled; returns false if it was over before."""
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
        now = time.monotonic()
        if settled:
            self._moved = now
        return Standing(
            sent=len(self._ids),
            settled=len(self._ids) - len(self._unsettled),
            waiting=sum(bool(self._waiter.records[self._ids[n]]) for n in self._unsettled),
            seconds=now - self._began,
            still_seconds=now - self._moved,
        )

    def _has_ended(self, line: Line) -> bool:
        return self.is_sent(line) and line.number not in self._unsettled
