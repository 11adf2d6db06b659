"""A data action of one's own: writes each event to a table, under its Idempotency-Key.

A key that is already in the table was acted on before, so a repeated request is harmless. Deploy it
as a Lambda with the environment variable TABLE (partition key `idempotencyKey`, a string) and give
its ARN to the parameter ActionFunctionArn.
"""

import json
import os
import time

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

# One request per invocation: botocore must not add a second one.
ONE_REQUEST = Config(connect_timeout=1, read_timeout=5, retries={"total_max_attempts": 1})


class Transient(Exception):  # noqa: N818 — the state machine catches these names
    """A second request with the same key may follow immediately."""


class Failed(Exception):  # noqa: N818
    """The event is sent again later, with the same key."""


class NotConfigured(Exception):  # noqa: N818
    """A configuration error: the event waits, and an alarm fires."""


class TooLate(Exception):  # noqa: N818
    """No time was left to begin: nothing was done."""


def handler(request, context):  # noqa: ARG001
    before = request["retry"]
    started_ms = now_ms()
    if started_ms >= request["deadlineMs"]:
        kind = Failed if before else TooLate
        raise kind(message("its batch had no time left: nothing was written", requests=before))
    event = request["event"]
    row = {
        "idempotencyKey": {"S": request["idempotencyKey"]},
        "family": {"S": event["family"]},
        "subject": {"S": event["subject"]["id"]},
        "occurredAtMs": {"N": str(event["occurredAtMs"])},
    }
    try:
        boto3.client("dynamodb", config=ONE_REQUEST).put_item(
            TableName=os.environ["TABLE"],
            Item=row,
            ConditionExpression="attribute_not_exists(idempotencyKey)",
        )
    except (BotoCoreError, ClientError) as error:
        response = getattr(error, "response", {})
        code = response.get("Error", {}).get("Code", "nothing")
        if code != "ConditionalCheckFailedException":
            kind = Transient if request["requestsAllowed"] - before == 2 else Failed
            if code in ("ResourceNotFoundException", "AccessDeniedException"):
                kind = NotConfigured
            facts = {"requests": before + 1, "endedMs": now_ms()}
            if response:
                facts["status"] = response["ResponseMetadata"]["HTTPStatusCode"]
            raise kind(message(f"the table said {code}", **facts)) from None
    return {
        "version": "2",
        "result": "ACTED",
        "requests": before + 1,
        "durationMs": now_ms() - started_ms,
    }


def message(sentence, **facts):
    """Writes what the state machine reads of an error; json.dumps keeps it ASCII."""
    return json.dumps({"once": "1", "sentence": sentence, **facts}, separators=(",", ":"))


def now_ms():
    return time.time_ns() // 1_000_000
