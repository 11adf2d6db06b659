"""Reads the queues of a stack without taking anything from them, and empties dead ends safely."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError
from pydantic import Field

from once.operate.model import Model
from once.operate.stack import Stack

_BATCH = 10
_POLL_SECONDS = 1
# What a reader who died in between hides from others, beside the time that its work takes.
_HIDE_SECONDS = 10
LONGEST_HIDE_SECONDS = 43_200
_PER_SECOND = 20.0


class Depth(Model):
    """How many messages a queue holds, roughly, as SQS says."""

    visible: int
    in_flight: int = Field(description="Being worked on, or waiting for the next try.")
    delayed: int

    @property
    def total(self) -> int:
        return self.visible + self.in_flight + self.delayed


@dataclass
class Letter:
    """One message of a dead end."""

    message_id: str
    body: str
    sent_ms: int
    attributes: dict[str, str]
    receipt: str = field(repr=False)


def depth(stack: Stack, output: str) -> Depth:
    """Of the queue that this output names."""
    names = {
        "visible": "ApproximateNumberOfMessages",
        "in_flight": "ApproximateNumberOfMessagesNotVisible",
        "delayed": "ApproximateNumberOfMessagesDelayed",
    }
    found = stack.client("sqs").get_queue_attributes(
        QueueUrl=stack.outputs[output], AttributeNames=list(names.values())
    )["Attributes"]
    return Depth.model_validate({name: found[attribute] for name, attribute in names.items()})


class Reading:
    """The messages of one dead end, each hidden from others until the end of the block."""

    def __init__(self, stack: Stack, output: str, per_second: float = _PER_SECOND) -> None:
        """`per_second` is how fast the caller will work through them, at least."""
        self._stack = stack
        self._output = output
        self._sqs = stack.client("sqs")
        self._url = stack.outputs[output]
        self._held: dict[str, Letter] = {}
        # None may come back before the last one was seen.
        self._hide_seconds = _HIDE_SECONDS + round(depth(stack, output).total / per_second)
        self._until = time.monotonic() + _HIDE_SECONDS + _POLL_SECONDS

    def __enter__(self) -> "Reading":
        return self

    def __exit__(self, *_: object) -> None:
        """What was not deleted is there for others again at once, if we may say so."""
        held = list(self._held.values())
        for start in range(0, len(held), _BATCH):
            entries = [
                {"Id": str(number), "ReceiptHandle": letter.receipt, "VisibilityTimeout": 0}
                for number, letter in enumerate(held[start : start + _BATCH])
            ]
            try:
                self._sqs.change_message_visibility_batch(QueueUrl=self._url, Entries=entries)
            except ClientError:
                return  # with rights to look alone, it returns by itself a little later

    def batches(self) -> Iterator[list[Letter]]:
        """Until every message was seen once, those too that somebody else just looked at."""
        while True:
            answer = self._sqs.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=_BATCH,
                WaitTimeSeconds=_POLL_SECONDS,
                VisibilityTimeout=min(self._hide_seconds, LONGEST_HIDE_SECONDS),
                MessageSystemAttributeNames=["SentTimestamp"],
                MessageAttributeNames=["All"],
            )
            letters = [_letter(message) for message in answer.get("Messages", [])]
            fresh = [letter for letter in letters if letter.message_id not in self._held]
            self._held |= {letter.message_id: letter for letter in letters}
            if fresh:
                yield fresh
            elif not letters and not self._others_hold_some():
                return

    def delete(self, letter: Letter) -> None:
        held = self._held.pop(letter.message_id)
        self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=held.receipt)

    def _others_hold_some(self) -> bool:
        return time.monotonic() < self._until and depth(self._stack, self._output).total > len(
            self._held
        )


def _letter(message: dict[str, Any]) -> Letter:
    return Letter(
        message_id=message["MessageId"],
        body=message["Body"],
        sent_ms=int(message["Attributes"]["SentTimestamp"]),
        attributes={
            name: attribute.get("StringValue", "")
            for name, attribute in message.get("MessageAttributes", {}).items()
        },
        receipt=message["ReceiptHandle"],
    )
