"""Delivers single events to a deployed stack, each in a batch of its own, and looks at once."""

import json
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from once_data_action import breaker_row

from once.genesys.server import Received
from once.local.pipe import Batch
from once.records import OutcomeLog, OutcomeRecord
from proof.deployed import DeployedStack
from proof.events import ORGANISATION, customer_start

_AT_ONCE = 5


@dataclass
class Course:
    """One event of a conversation of its own, and what its last delivery came to."""

    conversation: str
    event: dict[str, Any] = field(default_factory=dict)  # of it; else any that acts
    batch: Batch = field(init=False)
    record: OutcomeRecord = field(init=False)
    requests: list[Received] = field(init=False)
    claim: tuple[str, str] = field(init=False)

    @property
    def message(self) -> dict[str, Any]:
        return {
            "MessageId": f"message-of-{self.conversation}",
            "ReceiptHandle": f"receipt-of-{self.conversation}",
            "Body": json.dumps(self.event or customer_start(self.conversation)),
            "MD5OfBody": "none",
            "Attributes": {
                "SentTimestamp": str(time.time_ns() // 1_000_000),
                "ApproximateReceiveCount": "1",
            },
        }

    @property
    def ended(self) -> tuple[str, str | None]:
        return self.record.outcome.value, self.record.reason


def deliver(local: DeployedStack, courses: Sequence[Course]) -> None:
    """Side by side. A course that was delivered before is delivered again."""

    def run(course: Course) -> None:
        course.batch = local.stack.pipe.run_batch([course.message])
        course.requests = requests(local, course)
        course.claim = claim(local, course)

    # The emulator's log answers its first 10,000 lines and no more, and others fill it.
    since_ms = time.time_ns() // 1_000_000
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(run, courses))
    log = OutcomeLog(local.client("logs"), local.outputs["OutcomeLogGroupName"], since_ms)
    newest = {record.message_id: record for record in log.new()}
    for course in courses:
        course.record = newest[course.message["MessageId"]]


def let_calls_flow(local: DeployedStack) -> None:
    """Whatever was noted of the destination is forgotten."""
    table = local.outputs["ClaimTableName"]
    local.client("dynamodb").delete_item(TableName=table, Key=breaker_row.KEY)


def warm(local: DeployedStack) -> None:
    """Functions that are slow to start would use up the time of the calls."""
    for _ in range(5):
        # Never seen before, or they would end as copies without a call.
        courses = [Course(f"warm-{uuid.uuid4()}") for _ in range(_AT_ONCE)]
        for course in courses:
            answers(local, course, {"delayMs": 500})
        deliver(local, courses)
        if all(course.batch.seconds < 2 for course in courses):
            return


def answers(local: DeployedStack, course: Course, *replies: Any) -> None:
    """Sets the replies of the destination: each once, then successes."""
    local.destination.script.add(
        {"match": {"conversationId": course.conversation}, "replies": list(replies)}
    )


def requests(local: DeployedStack, course: Course) -> list[Received]:
    return [
        entry
        for entry in local.destination.log
        if entry.facts.get("conversationId") == course.conversation
    ]


def claim(local: DeployedStack, course: Course) -> tuple[str, str]:
    (row,) = local.rows(f"{ORGANISATION}/conversation/{course.conversation}").values()
    return row["status"], row["outcome"]
