"""Delivers single events to a deployed stack, each in a batch of its own, and looks at once."""

import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from data_action import breaker_row

from once.embedded.pipe import Batch
from once.genesys.server import Received
from once.records import OutcomeLog, OutcomeRecord
from proof.embedded import Embedded
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


def deliver(embedded: Embedded, courses: Sequence[Course]) -> None:
    """Side by side. A course that was delivered before is delivered again."""

    def run(course: Course) -> None:
        course.batch = embedded.stack.pipe.run_batch([course.message])
        course.requests = requests(embedded, course)
        course.claim = claim(embedded, course)

    # The embedded log answers its first 10,000 lines and no more, and others fill it.
    since_ms = time.time_ns() // 1_000_000
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(run, courses))
    log = OutcomeLog(embedded.client("logs"), embedded.outputs["OutcomeLogGroupName"], since_ms)
    newest = {record.message_id: record for record in log.new()}
    for course in courses:
        course.record = newest[course.message["MessageId"]]


def let_calls_flow(embedded: Embedded) -> None:
    """Whatever was noted of the destination is forgotten."""
    table = embedded.outputs["ClaimTableName"]
    embedded.client("dynamodb").delete_item(TableName=table, Key=breaker_row.KEY)


def warm(embedded: Embedded) -> None:
    """Functions that are slow to start would use up the time of the calls."""
    for wave in range(5):
        courses = [Course(f"warm-{wave}-{number}") for number in range(_AT_ONCE)]
        for course in courses:
            answers(embedded, course, {"delayMs": 500})
        deliver(embedded, courses)
        if all(course.batch.seconds < 2 for course in courses):
            return


def answers(embedded: Embedded, course: Course, *replies: Any) -> None:
    """What the destination says about it: each reply once, then well."""
    embedded.destination.script.add(
        {"match": {"conversationId": course.conversation}, "replies": list(replies)}
    )


def requests(embedded: Embedded, course: Course) -> list[Received]:
    return [
        entry
        for entry in embedded.destination.log
        if entry.facts.get("conversationId") == course.conversation
    ]


def claim(embedded: Embedded, course: Course) -> tuple[str, str]:
    (row,) = embedded.rows(f"{ORGANISATION}/conversation/{course.conversation}").values()
    return row["status"], row["outcome"]
