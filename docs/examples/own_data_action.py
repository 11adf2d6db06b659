"""A data action of one's own: writes each event to a table, under its Idempotency-Key.

A key that is there already acted before: that is what makes the repeated call harmless. Deploy it
as a Lambda with the environment variable TABLE (partition key `idempotencyKey`, a string) and give
its ARN to the parameter ActionFunctionArn.
"""

import json
import os
import time

import boto3
from botocore.exceptions import BotoCoreError, ClientError


class Transient(Exception):  # noqa: N818 — the state machine catches these names
    """Asked again, with the same key."""


class NotConfigured(Exception):  # noqa: N818
    """A fault of the set-up: the event waits, and an alarm fires."""


class TooLate(Exception):  # noqa: N818
    """Nothing was done: the time for it was over."""


def handler(request, context):  # noqa: ARG001
    started = time.time() * 1000
    if started >= request["deadlineMs"]:
        raise TooLate(json.dumps({"detail": "the deadline had passed"}))
    event = request["event"]
    row = {
        "idempotencyKey": {"S": request["idempotencyKey"]},
        "family": {"S": event["family"]},
        "subject": {"S": event["subject"]["id"]},
        "occurredAtMs": {"N": str(event["occurredAtMs"])},
    }
    try:
        boto3.client("dynamodb").put_item(
            TableName=os.environ["TABLE"],
            Item=row,
            ConditionExpression="attribute_not_exists(idempotencyKey)",
        )
    except BotoCoreError:
        raise Transient(json.dumps({"detail": "the table was not reached"})) from None
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in ("ResourceNotFoundException", "AccessDeniedException"):
            raise NotConfigured(json.dumps({"detail": f"the table said {code}"})) from None
        if code != "ConditionalCheckFailedException":
            raise Transient(json.dumps({"detail": f"the table said {code}"})) from None
    return {"version": "1", "result": "ACTED", "durationMs": round(time.time() * 1000 - started)}
