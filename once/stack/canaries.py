"""Makes and sends canaries: the data action answers these events itself, not the destination.

A message attribute marks them. What they ask for ends with their check: a canary that is delivered
later is acted on. Only a target bus gets them, with the source genesys-once.check.
"""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

from once_enrichment.handler import CANARY, normalise

from once.model.reasons import REASONS
from once.model.records import Record
from once.stack import dead_letters
from once.stack.facade import Stack, read_clock_ms
from once.stack.stories import CANARY_FAMILY
from once.stack.waiter import Waiter

_ORGANISATION = "once-check"
_ATTRIBUTES = {CANARY: {"DataType": "String", "StringValue": "true"}}


@dataclass
class Canary:
    """One message that is sent, and its id when it is."""

    name: str
    body: str
    message_id: str = ""
    element: dict[str, object] = field(init=False)

    def __post_init__(self) -> None:
        sent = {"SentTimestamp": str(read_clock_ms())}
        self.element = normalise({"body": self.body, "attributes": sent})


def make_canary(run: str, name: str, **body: int) -> Canary:
    """Makes an event of an organisation that does not exist; `body` says how it ends."""
    topic = f"v2.{CANARY_FAMILY}"
    event = {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": f"{topic}.{{id}}",
        "source": f"aws.partner/genesys.com/cloud/{_ORGANISATION}/canary",
        "detail": {
            "topicName": f"{topic}.{run}-{name}",
            "version": "2",
            "eventBody": {"eventTime": read_clock_ms(), **body},
        },
    }
    return Canary(name, json.dumps(event))


def make_copy(canary: Canary, name: str) -> Canary:
    """Makes the event as Genesys publishes it again: in a new envelope."""
    return Canary(name, json.dumps({**json.loads(canary.body), "id": str(uuid.uuid4())}))


class Trial:
    """Sends canaries, waits for their outcomes and cleans up."""

    def __init__(self, stack: Stack, poll_seconds: float = 2.0) -> None:
        self._stack = stack
        self.sent: list[Canary] = []
        self._waiter = Waiter(stack, poll_seconds)

    def send(self, *canaries: Canary) -> None:
        for canary in canaries:
            sent = self._stack.client("sqs").send_message(
                QueueUrl=self._stack.outputs["EventQueueUrl"],
                MessageBody=canary.body,
                MessageAttributes=_ATTRIBUTES,
            )
            canary.message_id = str(sent["MessageId"])
            self.sent.append(canary)

    def wait(self, canaries: Sequence[Canary], seconds: float) -> bool:
        """Waits until they are settled; returns false if the time is over before, or if one of them
        was put back twice for a reason that somebody has to repair."""

        def is_settled() -> bool:
            return all(self._waiter.find_end(canary.message_id) for canary in canaries)

        self._waiter.wait(lambda: is_settled() or any(map(self._is_stuck, canaries)), seconds)
        return is_settled()

    def _is_stuck(self, canary: Canary) -> bool:
        # A canary itself asks for CALL_FAILED.
        reasons = [record.reason or "" for record in self.records_of(canary)]
        return any(
            reasons.count(code) > 1 and code in REASONS and REASONS[code].alarm
            for code in {*reasons}
        )

    def wait_for_replay(self, canary: Canary, seconds: float) -> bool:
        """Waits until a canary that was parked is settled again."""
        return self._waiter.wait(
            lambda: sum(record.is_settled for record in self.records_of(canary)) > 1, seconds
        )

    def records_of(self, canary: Canary) -> list[Record]:
        return self._waiter.records[canary.message_id]

    def replay(self, canary: Canary) -> bool:
        """Replays a canary that was parked; returns false if it is not in the dead-letter queue."""
        with dead_letters.reading(self._stack) as letters:
            ours = [letter for letter in letters if letter.message_id == canary.message_id]
            for letter in ours:
                letter.once["canary"] = True
            return bool(ours) and not dead_letters.replay(self._stack, ours)

    def clear_parked(self) -> int:
        """Takes the canaries that were parked out of the dead-letter queue, and nothing else."""
        ids, count = {canary.message_id for canary in self.sent}, 0
        with dead_letters.reading(self._stack) as letters:
            ours = [letter for letter in letters if letter.message_id in ids]
            for batch in dead_letters.batches(ours):
                count += len(batch) - len(dead_letters.delete(self._stack, batch))
        return count

    def clear_rows(self) -> None:
        """Deletes the claims of the canaries, which nobody needs."""
        table, dynamodb = self._stack.outputs["ClaimTableName"], self._stack.client("dynamodb")
        keys = (canary.element["key"] for canary in self.sent)
        for pk in {key["pk"] for key in keys if isinstance(key, dict)}:
            answer = dynamodb.query(
                TableName=table,
                KeyConditionExpression="pk = :pk",
                ExpressionAttributeValues={":pk": {"S": pk}},
                ProjectionExpression="pk, sk",
            )
            for row in answer["Items"]:
                dynamodb.delete_item(TableName=table, Key=row)
