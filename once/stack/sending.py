"""Sends lines into a stack: to its queue, in the form in which the rule delivers events."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from botocore.exceptions import ClientError
from once_enrichment.handler import normalise

from once.errors import OnceError
from once.lines import Line
from once.stack.facade import Stack, read_clock_ms

_BATCH = 10
_BATCH_BYTES = 900_000
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


def chain_by_claim(lines: Iterable[Line]) -> list[deque[Line]]:
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
