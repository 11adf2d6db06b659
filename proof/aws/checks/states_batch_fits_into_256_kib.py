"""Step Functions takes 256 KiB as an execution's input, as a task's arguments or result, and as
the variables of one Assign, while SQS takes messages of 1 MiB.

So ten large events make a batch that cannot be delivered at all: all ten would come back until
they are dead letters. The enrichment keeps the largest parts elsewhere, and counts as the worst
writer of JSON would.
"""

import json
from collections.abc import Iterator
from typing import Any

from once_enrichment.overflow import Write

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "step-functions/latest/dg/service-quotas.html",
        "Input or output of a task, a state or an execution: 256 KiB as UTF-8, a hard quota.",
    ),
    page(
        "step-functions/latest/dg/workflow-variables.html",
        "A variable, and all of one Assign together: 256 KiB; all of an execution: 10 MiB.",
    ),
    page(
        "eventbridge/latest/userguide/eb-pipes-batching-concurrency.html",
        "A state machine as a target: 262,144 characters.",
    ),
    page(
        "AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html",
        "A message: 1 MiB.",
    ),
)
_MOST_BYTES = 262_144
_EACH = 100_000


def findings(deployed: Deployed) -> Iterator[str]:
    for text in ("x", "ä", "\x01"):
        records = [_record(number, text * (_EACH // len(json.dumps(text)))) for number in range(10)]
        batch = deployed.enrich(records, _bucket)
        for ascii_only in (True, False):
            size = len(json.dumps(batch, ensure_ascii=ascii_only).encode())
            if size > _MOST_BYTES:
                yield f"ten events of {_EACH:,} bytes of {text!a} make a batch of {size:,}"


def _record(number: int, text: str) -> dict[str, Any]:
    body = {"id": f"{number}", "text": text, "eventTime": 1_777_875_660_000}
    topic = "v2.detail.events.conversation.c1.customer.end"
    detail = {"topicName": topic, "eventBody": body}
    return {
        "messageId": f"m{number}",
        "receiptHandle": "r" * 400,
        "body": json.dumps({"detail-type": topic, "detail": detail}),
        "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": "1777875660000"},
    }


def _bucket(key: str, _: bytes) -> dict[str, str]:
    return {"bucket": "b" * 63, "key": key}


def _all_of_it(records: list[Any], _: Write) -> list[dict[str, Any]]:
    return [{"messageId": record["messageId"], "body": record["body"]} for record in records]


def _nothing_kept_elsewhere(deployed: Deployed) -> None:
    deployed.enrich = _all_of_it


BROKEN = {"an enrichment that keeps nothing elsewhere": _nothing_kept_elsewhere}
