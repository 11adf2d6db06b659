"""A message holds the characters of XML and no others: not U+FFFE, not U+FFFF.

JSON escapes control characters, so of what an event can hold these two remain. The reference of
SendMessage has said in turn that SQS refuses such a message and that it puts U+FFFD in their
place. If refused, an event that must be parked would be tried until the queue deletes it; so the
enrichment replaces them itself.
"""

import json
from collections.abc import Iterator
from typing import Any

from once_enrichment.overflow import Write

from proof.aws.check import issue, page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "AWSSimpleQueueService/latest/APIReference/API_SendMessage.html",
        "#x9, #xA, #xD, #x20 to #xD7FF, #xE000 to #xFFFD, #x10000 to #x10FFFF.",
    ),
    issue(
        "async-aws/aws/pull/1950",
        "The reference changed from replacing with U+FFFD to InvalidMessageContents.",
    ),
)
_ODD = "\ufffe \uffff \x00 \x7f \ufdd0 \U0001ffff"


def findings(deployed: Deployed) -> Iterator[str]:
    detail = {"eventBody": {"id": _ODD, _ODD: [_ODD]}, "topicName": f"v2.users.{_ODD}.presence"}
    envelope = {"detail": {**detail, "metadata": {"CorrelationId": _ODD}}, "source": _ODD}
    bodies = {"an event": json.dumps(envelope), "what is no event": f"no JSON {_ODD}"}
    for what, body in bodies.items():
        (element,) = deployed.enrich([_record(body)], _no_bucket)
        # As Step Functions writes an object that is a MessageBody.
        text = json.dumps(element, ensure_ascii=False)
        if refused := {character for character in text if not _allowed(ord(character))}:
            yield f"{what} would be parked with {', '.join(map(ascii, sorted(refused)))}"


def _allowed(code: int) -> bool:
    return (
        code in (0x9, 0xA, 0xD)
        or 0x20 <= code <= 0xD7FF
        or 0xE000 <= code <= 0xFFFD
        or 0x10000 <= code <= 0x10FFFF
    )


def _record(body: str) -> dict[str, Any]:
    attributes = {"ApproximateReceiveCount": "1", "SentTimestamp": "1777875660000"}
    return {"messageId": "m", "receiptHandle": "r", "body": body, "attributes": attributes}


def _no_bucket(key: str, _: bytes) -> dict[str, str]:
    raise AssertionError(f"{key} is small, and was written to the bucket")


def _as_it_came(records: list[Any], _: Write) -> list[dict[str, Any]]:
    return [{"messageId": record["messageId"], "raw": record["body"]} for record in records]


def _unchanged(deployed: Deployed) -> None:
    deployed.enrich = _as_it_came


BROKEN = {"an enrichment that passes text on as it came": _unchanged}
