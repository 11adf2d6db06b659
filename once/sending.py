"""Sends lines into a stack: to its queue in the form the rule delivers, or through its bus."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from botocore.exceptions import ClientError

from once.errors import OnceError
from once.lines import Line, bus_entry

_BATCH = 10
_BATCH_BYTES = 900_000


class Sent(Protocol):
    """Told of each line as it leaves, with the id by which it can be found again."""

    def sent_to_queue(self, line: Line, message_id: str) -> None: ...

    def sent_to_bus(self, line: Line, envelope_id: str) -> None: ...


class Sender:
    def __init__(self, sqs: Any, events: Any, outputs: Mapping[str, str], sent: Sent) -> None:
        self._sqs, self._events = sqs, events
        self._queue = outputs["EventQueueUrl"]
        self._bus = outputs["EventBusName"]
        self._sent = sent

    def to_queue(self, lines: Iterable[Line]) -> None:
        for batch in _batches(lines):
            entries = [{"Id": str(n), "MessageBody": line.text} for n, line in enumerate(batch)]
            try:
                answer = self._sqs.send_message_batch(QueueUrl=self._queue, Entries=entries)
            except ClientError as error:
                raise _refused(batch[0], batch[-1], str(error)) from error
            for entry in answer.get("Successful", []):
                self._sent.sent_to_queue(batch[int(entry["Id"])], entry["MessageId"])
            for failed in answer.get("Failed", []):
                line = batch[int(failed["Id"])]
                raise _refused(line, line, failed.get("Message", failed["Code"]))

    def to_bus(self, lines: Iterable[Line], source_prefix: str) -> None:
        """What the bus cannot carry, or no rule would take from it, goes to the queue."""
        rest = []
        for line in lines:
            entry = bus_entry(line.text)
            if entry is None or not entry["Source"].startswith(source_prefix):
                rest.append(line)
                continue
            answer = self._events.put_events(Entries=[{**entry, "EventBusName": self._bus}])
            if answer["FailedEntryCount"]:
                rest.append(line)
            else:
                self._sent.sent_to_bus(line, answer["Entries"][0]["EventId"])
        self.to_queue(rest)


def _batches(lines: Iterable[Line]) -> Iterator[Sequence[Line]]:
    batch: list[Line] = []
    size = 0
    for line in lines:
        length = len(line.text.encode())
        if batch and (len(batch) == _BATCH or size + length > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(line)
        size += length
    if batch:
        yield batch


def _refused(first: Line, last: Line, why: str) -> OnceError:
    lines = f"line {first.number}" if first is last else f"lines {first.number} to {last.number}"
    return OnceError(
        f"SQS refused {lines}: {why}\n"
        "A message is at most 1 MiB and has no control characters but tab and line ends. Lines "
        "before it, and some behind it, are sent; sent once more, they would be skipped as copies."
    )
