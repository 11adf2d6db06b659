"""A pipe can hand back only messages whose messageId the enrichment passed on, and an empty answer
settles the whole batch: every message is deleted, and the target is never called.

So the enrichment answers one element for each message, whatever is in it, and raises for none: a
raised error brings the whole batch back, the good with the bad.
"""

import json
from collections.abc import Iterator
from typing import Any

from once_enrichment.overflow import Write

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "eventbridge/latest/userguide/eb-pipes-batching-concurrency.html",
        "The ids of the source must be in any array that the enrichment returns; a failure of the "
        "enrichment is never partial.",
    ),
    page(
        "eventbridge/latest/userguide/pipes-enrichment.html",
        "An empty response of an enrichment: the target is not invoked.",
    ),
)
_BODIES = (
    "",
    "no JSON",
    "null",
    "[]",
    "{}",
    '{"detail": null}',
    json.dumps({"topicName": "channel.metadata", "eventBody": {"message": "WebSocket Heartbeat"}}),
    json.dumps({"topicName": "v2.users.u1.presence", "eventBody": {"modifiedDate": []}}),
)


def findings(deployed: Deployed) -> Iterator[str]:
    for number, body in enumerate(_BODIES):
        yield from _answered(deployed, [_record(number, body)], repr(body))
    batch = [_record(number, body) for number, body in enumerate(_BODIES)]
    yield from _answered(deployed, batch, "all of these together")


def _answered(deployed: Deployed, batch: list[dict[str, Any]], what: str) -> Iterator[str]:
    try:
        answer = deployed.enrich(batch, _no_bucket)
    except Exception as error:  # the pipe sees a failed enrichment, whatever it is
        yield f"for {what} the enrichment raises {error!r}"
        return
    sent = [record["messageId"] for record in batch]
    if [element.get("messageId") for element in answer] != sent:
        yield f"for {what} the enrichment answers {len(answer)} of {len(batch)} elements"


def _record(number: int, body: str) -> dict[str, Any]:
    attributes = {"ApproximateReceiveCount": "1", "SentTimestamp": "1777875660000"}
    return {
        "messageId": f"m{number}",
        "receiptHandle": "r",
        "body": body,
        "attributes": attributes,
    }


def _no_bucket(key: str, _: bytes) -> dict[str, str]:
    raise AssertionError(f"{key} is small, and was written to the bucket")


def _leaves_out(records: list[Any], _: Write) -> list[dict[str, Any]]:
    return [{"messageId": r["messageId"]} for r in records if r["body"].startswith("{")]


def _raises(records: list[Any], _: Write) -> list[dict[str, Any]]:
    return [{"messageId": r["messageId"], **json.loads(r["body"])} for r in records]


def _what_is_no_event_left_out(deployed: Deployed) -> None:
    deployed.enrich = _leaves_out


def _a_bad_one_raised_for(deployed: Deployed) -> None:
    deployed.enrich = _raises


BROKEN = {
    "what is no event left out": _what_is_no_event_left_out,
    "an error raised for a bad one": _a_bad_one_raised_for,
}
