"""A data action of one's own: writes each event to a table, under its Idempotency-Key.

A key that is there already acted before: that is what makes the repeated call harmless. Deploy it
as a Lambda with the environment variable TABLE (partition key `idempotencyKey`, a string) and give
its ARN to the parameter ActionFunctionArn.
"""

import os
import time

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

# One call an invocation: botocore must not make a second one of its own.
ONE_CALL = Config(connect_timeout=1, read_timeout=5, retries={"total_max_attempts": 1})


class Transient(Exception):  # noqa: N818 — the state machine catches these names
    """May be called once more at once, with the same key."""


class Failed(Exception):  # noqa: N818
    """Asked again later, with the same key."""


class NotConfigured(Exception):  # noqa: N818
    """A fault of the set-up: the event waits, and an alarm fires."""


class TooLate(Exception):  # noqa: N818
    """Nothing was done: the time for it was over."""


def handler(request, context):  # noqa: ARG001
    before = request["retry"]
    started_ms = now_ms()
    if started_ms >= request["deadlineMs"]:
        kind = Failed if before else TooLate
        raise kind(f"the deadline had passed: nothing was written [calls={before}]")
    event = request["event"]
    row = {
        "idempotencyKey": {"S": request["idempotencyKey"]},
        "family": {"S": event["family"]},
        "subject": {"S": event["subject"]["id"]},
        "occurredAtMs": {"N": str(event["occurredAtMs"])},
    }
    try:
        boto3.client("dynamodb", config=ONE_CALL).put_item(
            TableName=os.environ["TABLE"],
            Item=row,
            ConditionExpression="attribute_not_exists(idempotencyKey)",
        )
    except (BotoCoreError, ClientError) as error:
        answer = getattr(error, "response", {})
        code = answer.get("Error", {}).get("Code", "nothing")
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        if code != "ConditionalCheckFailedException":
            facts = f"calls={before + 1} startedMs={started_ms} endedMs={now_ms()}"
            facts += f" status={status}" if status else ""
            kind = Transient if request["callsAllowed"] - before == 2 else Failed
            if code in ("ResourceNotFoundException", "AccessDeniedException"):
                kind = NotConfigured
            raise kind(f"the table said {code} [{facts}]") from None
    return {
        "version": "2",
        "result": "ACTED",
        "calls": before + 1,
        "durationMs": now_ms() - started_ms,
    }


def now_ms():
    return time.time_ns() // 1_000_000
