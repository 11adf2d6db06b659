"""The events that `once check` sends: made up, of an organisation that does not exist.

A message attribute marks them. The data action answers marked events itself, so no destination ever
sees them. What they ask for ends with their check: one that is delivered later is acted on.
"""

import json
import time
import uuid
from dataclasses import dataclass, field

from once_enrichment.contract import CANARY

from once.operate.stack import Stack

ORGANISATION = "once-check"
ATTRIBUTES = {CANARY: {"DataType": "String", "StringValue": "true"}}
FAMILY = "once.check"
_TOPIC = f"v2.{FAMILY}"
_REFUSED_MS = 300_000  # a check waits no longer for its rejection


@dataclass
class Canary:
    """One event, sent once or again, and the messages that carried it."""

    name: str
    body: str
    message_ids: list[str] = field(default_factory=list)

    def copy(self) -> str:
        """Returns the event as Genesys publishes it again: in a new envelope."""
        event = json.loads(self.body)
        return json.dumps({**event, "id": str(uuid.uuid4())})


@dataclass
class Canaries:
    """The canaries of one check, told from others by its run."""

    run: str
    good: Canary
    refused: Canary
    failing: Canary
    broken: Canary

    @classmethod
    def create(cls, fails_for_ms: int) -> "Canaries":
        run = str(uuid.uuid4())
        now_ms = time.time_ns() // 1_000_000
        return cls(
            run=run,
            good=Canary("good", _event(run, "good", now_ms)),
            refused=Canary(
                "refused", _event(run, "refused", now_ms, refuseUntilMs=now_ms + _REFUSED_MS)
            ),
            failing=Canary(
                "failing", _event(run, "failing", now_ms, failUntilMs=now_ms + fails_for_ms)
            ),
            broken=Canary("broken", f"not an event, on purpose: canary {run} of once check"),
        )


def send_canary(stack: Stack, body: str) -> str:
    """Sends a canary's body to the queue, marked, and returns the id of its message."""
    sent = stack.client("sqs").send_message(
        QueueUrl=stack.outputs["EventQueueUrl"], MessageBody=body, MessageAttributes=ATTRIBUTES
    )
    return str(sent["MessageId"])


def _event(run: str, name: str, now_ms: int, **body: int) -> str:
    subject = f"{run}-{name}"
    return json.dumps(
        {
            "version": "0",
            "id": str(uuid.uuid4()),
            "detail-type": f"{_TOPIC}.{{id}}",
            "source": f"aws.partner/genesys.com/cloud/{ORGANISATION}/canary",
            "detail": {
                "topicName": f"{_TOPIC}.{subject}",
                "version": "2",
                "eventBody": {"eventTime": now_ms, **body},
            },
        }
    )
