"""The variables of one Assign have 256 KiB together, not each.

What one state keeps of the largest input adds up: the batch itself, which the enrichment lets grow
to 200 KiB, and a record for each of its messages. Over it the execution fails with
States.DataLimitExceeded in its first state, each time the batch comes back.
"""

import json
from collections.abc import Iterator
from typing import Any

from once_enrichment.overflow import LIMIT_BYTES

from proof.asl.expressions import is_expression
from proof.asl.jsonata import Clock, Library
from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "step-functions/latest/dg/workflow-variables.html",
        "The maximum combined size for all variables in a single Assign field is 256 KiB; for all "
        "of an execution 10 MiB.",
    ),
)
_MOST_BYTES = 262_144
_OPENS = "OpenBatch"
_NOW_MS = 1_777_875_660_000
_LONG = "ü" * 200  # of an id; the enrichment cuts what is longer, or hashes it
_TEXT = 9_000  # so many that the batch is about as large as it may be


def findings(deployed: Deployed) -> Iterator[str]:
    batch = deployed.enrich([_record(number) for number in range(10)], _bucket)
    size = len(json.dumps(batch).encode())
    if size < 0.9 * LIMIT_BYTES:
        yield f"the batch that this check makes has {size:,} bytes and proves nothing"
    arn = "arn:aws:states:eu-central-1:111122223333:express:once:run:uuid"
    scope = {"states": {"input": batch, "context": {"Execution": {"Id": arn}}}}
    assigned = {
        name: Library().evaluate(value[2:-2], scope, Clock(_NOW_MS))
        if isinstance(value, str) and is_expression(value)
        else value
        for name, value in deployed.states[_OPENS]["Assign"].items()
    }
    together = len(json.dumps(assigned).encode())
    if together > _MOST_BYTES:
        yield f"{_OPENS} assigns {together:,} bytes, over {_MOST_BYTES:,}"


def _record(number: int) -> dict[str, Any]:
    topic = "v2.detail.events.conversation.c1.customer.end"
    body = {
        "conversationId": f"{_LONG}{number}",
        "participantId": _LONG,
        "sessionId": _LONG,
        "eventTime": _NOW_MS,
        "text": "x" * _TEXT,
    }
    envelope = {
        "id": _LONG,
        "source": f"aws.partner/genesys.com/cloud/{_LONG}/live",
        "detail-type": "v2.detail.events.conversation.{id}.customer.end",
        "detail": {
            "topicName": topic,
            "eventBody": body,
            "metadata": {"CorrelationId": _LONG},
        },
    }
    return {
        "messageId": f"11111111-2222-4333-8444-00000000000{number}",
        "receiptHandle": "r" * 400,
        "body": json.dumps(envelope),
        "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": f"{_NOW_MS}"},
    }


def _bucket(key: str, _: bytes) -> dict[str, str]:
    return {"bucket": "b" * 63, "key": key}


def _kept_twice(deployed: Deployed) -> None:
    deployed.states[_OPENS]["Assign"]["asItCame"] = "{% $states.input %}"


BROKEN = {"the batch kept twice": _kept_twice}
