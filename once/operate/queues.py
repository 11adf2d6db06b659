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
    """The number of messages in a queue, roughly, as SQS says."""

    visible: int
    in_flight: int = Field(description="In progress, or waiting for the next try.")
    delayed: int

    @property
    def total(self) -> int:
        return self.visible + self.in_flight + self.delayed


@dataclass
class QueuedMessage:
    """One message of a dead end."""

    message_id: str
    body: str
    sent_at_ms: int
    attributes: dict[str, str]
    receipt: str = field(repr=False)


def read_depth(stack: Stack, output: str) -> Depth:
    """Reads the depth of the queue that this output names."""
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
        self._taken: dict[str, QueuedMessage] = {}
        # None may come back before the last one was seen.
        self._hide_seconds = _HIDE_SECONDS + round(read_depth(stack, output).total / per_second)
        self._until = time.monotonic() + _HIDE_SECONDS + _POLL_SECONDS

    def __enter__(self) -> "Reading":
        return self

    def __exit__(self, *_: object) -> None:
        """Makes visible again at once what was not deleted, if permissions allow."""
        taken = list(self._taken.values())
        for start in range(0, len(taken), _BATCH):
            entries = [
                {"Id": str(number), "ReceiptHandle": message.receipt, "VisibilityTimeout": 0}
                for number, message in enumerate(taken[start : start + _BATCH])
            ]
            try:
                self._sqs.change_message_visibility_batch(QueueUrl=self._url, Entries=entries)
            except ClientError:
                return  # with read-only permissions they return by themselves a little later

    def batches(self) -> Iterator[list[QueuedMessage]]:
        """Yields every message once, those too that another reader has just hidden."""
        while True:
            answer = self._sqs.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=_BATCH,
                WaitTimeSeconds=_POLL_SECONDS,
                VisibilityTimeout=min(self._hide_seconds, LONGEST_HIDE_SECONDS),
                MessageSystemAttributeNames=["SentTimestamp"],
                MessageAttributeNames=["All"],
            )
            messages = [_parse(message) for message in answer.get("Messages", [])]
            fresh = [one for one in messages if one.message_id not in self._taken]
            self._taken |= {one.message_id: one for one in messages}
            if fresh:
                yield fresh
            elif not messages:
                others = read_depth(self._stack, self._output).total - len(self._taken)
                if others <= 0 or time.monotonic() >= self._until:
                    return

    def delete(self, message: QueuedMessage) -> None:
        taken = self._taken.pop(message.message_id)
        self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=taken.receipt)


def _parse(message: dict[str, Any]) -> QueuedMessage:
    return QueuedMessage(
        message_id=message["MessageId"],
        body=message["Body"],
        sent_at_ms=int(message["Attributes"]["SentTimestamp"]),
        attributes={
            name: attribute.get("StringValue", "")
            for name, attribute in message.get("MessageAttributes", {}).items()
        },
        receipt=message["ReceiptHandle"],
    )
