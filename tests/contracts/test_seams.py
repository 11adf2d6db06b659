"""Whatever crosses a seam while the real template runs is what the contract of that seam says."""

import io
import json
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from boto3.dynamodb.types import TypeDeserializer
from jsonschema import Draft202012Validator

from once.outcomes import Outcome
from proof.deployed import DeployedStack, deployed
from proof.events import ORGANISATION, customer_start
from schemas.contracts import closed

SCHEMAS = Path(__file__).parents[2] / "schemas"
EXAMPLES = SCHEMAS / "examples"
REFERENCES = {"bodyRef", "rawRef"}
AWAITED = {"CALL_FAILED", "FUNCTION_FAILED", "OVERFLOW_FAILED", "RATE_LIMITED"}
TOO_LARGE = "x" * 250_000
# What was published stays in the schema.
NO_LONGER_WRITTEN = {"waitSeconds"}
# An action of one's own that answers what it was sent, so that the execution's history has it.
ACTION = "arn:aws:lambda:eu-central-1:000000000000:function:tell-what-was-sent"
CODE = """
import json
import os
import boto3

class Transient(Exception):
    pass

class RateLimited(Exception):
    pass

class Rejected(Exception):
    pass

def handler(request, _):
    subject = request["event"]["subject"]["id"]
    if subject == "broken":
        raise KeyError("it has a fault")
    if subject == "unlucky":
        raise Transient("no answer")
    if subject == "too-many":
        raise RateLimited(message("slow down", status=429, retryAfterSeconds=170))
    if subject == "refused":
        raise Rejected(message("it is not wanted", status=422))
    if subject == "unconfirmed":
        take_over(request["event"]["key"])
    return {"version": "2", "result": "ACTED", "durationMs": 12, "sent": request}

def message(sentence, **facts):
    facts = {"once": "1", "sentence": sentence, "requests": 1, **facts}
    return json.dumps(facts, separators=(",", ":"))

def take_over(key):
    boto3.client("dynamodb").update_item(
        TableName=os.environ["TABLE"],
        Key={name: {"S": value} for name, value in key.items()},
        UpdateExpression="SET #owner = :other",
        ExpressionAttributeNames={"#owner": "owner"},
        ExpressionAttributeValues={":other": {"S": "other#other"}},
    )
"""


def check(name: str, value: Any) -> None:
    """Checks a value by the schema in the repository, and that it has no other field."""
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    faults = [
        f"{name}{error.json_path[1:]}: {error.message}"
        for error in Draft202012Validator(closed(schema)).iter_errors(value)
    ]
    assert not faults, (faults, value)


def example(name: str) -> dict[str, Any]:
    event: dict[str, Any] = json.loads((EXAMPLES / f"{name}.event.json").read_text())
    return event


@pytest.fixture(scope="module")
def seams() -> Iterator[DeployedStack]:
    """A stack through which has passed what makes each kind of element, row and record."""
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("tell.py", CODE)
    with deployed(ActionFunctionArn=ACTION, MaxActionsPerMinute="3000") as local:
        local.client("lambda").create_function(
            FunctionName=ACTION.rpartition(":")[2],
            Runtime="python3.11",
            Role="arn:aws:iam::000000000000:role/own",
            Handler="tell.handler",
            Code={"ZipFile": package.getvalue()},
            Environment={"Variables": {"TABLE": local.outputs["ClaimTableName"]}},
        )
        examples = [example(name) for name in ("user.presence", "own.status-change", "agent.state")]
        start = customer_start("lucky")
        large = [customer_start("large", note=TOO_LARGE), f"no event {TOO_LARGE}"]
        reports = local.settle(*[start] * 4, *examples, "no event", *large)
        assert {report.outcome for report in reports} >= {Outcome.PROCESSED, Outcome.PARKED}
        (late,) = local.settle(start)
        assert late.outcome == Outcome.DUPLICATE
        refused, _ = local.settle(customer_start("refused"), customer_start("unconfirmed"))
        assert refused.outcome == Outcome.PARKED
        held = customer_start("held")
        local.settle(held)
        hold(local, f"{ORGANISATION}/conversation/held")
        local.send(held)
        until = time.monotonic() + 60
        while "HELD" not in reasons(local):
            assert time.monotonic() < until, reasons(local)
            time.sleep(0.2)
        # Of these two the breaker's row says that nobody is to call.
        failing = [customer_start(name) for name in ("unlucky", "too-many", "broken")]
        local.send(*failing, customer_start("another form", eventTime="soon"))
        remove_bucket(local)
        local.send(customer_start("larger", note=TOO_LARGE))
        until = time.monotonic() + 60
        while "breaker" not in local.rows("pace") or not reasons(local) >= AWAITED:
            assert time.monotonic() < until, (local.rows("pace"), reasons(local))
            time.sleep(0.2)
        yield local


def hold(local: DeployedStack, pk: str) -> None:
    """Somebody else works on the one event of this subject, and for an hour."""
    (sk,) = local.rows(pk)
    local.client("dynamodb").update_item(
        TableName=local.outputs["ClaimTableName"],
        Key={"pk": {"S": pk}, "sk": {"S": sk}},
        UpdateExpression="SET #status = :held, #owner = :other, lease_until = :until "
        "REMOVE outcome, done_at",
        ExpressionAttributeNames={"#status": "status", "#owner": "owner"},
        ExpressionAttributeValues={
            ":held": {"S": "IN_PROGRESS"},
            ":other": {"S": "other#other"},
            ":until": {"N": str(time.time_ns() // 1_000_000 + 3_600_000)},
        },
    )


def remove_bucket(local: DeployedStack) -> None:
    s3, bucket = local.client("s3"), local.outputs["OverflowBucketName"]
    for kept in s3.list_objects_v2(Bucket=bucket)["Contents"]:
        s3.delete_object(Bucket=bucket, Key=kept["Key"])
    s3.delete_bucket(Bucket=bucket)


def records(local: DeployedStack) -> list[dict[str, Any]]:
    """Reads the records of messages from the outcome log."""
    pages = local.client("logs").get_paginator("filter_log_events")
    entries = [
        json.loads(entry["message"])
        for page in pages.paginate(logGroupName=local.outputs["OutcomeLogGroupName"])
        for entry in page["events"]
    ]
    return [entry for entry in entries if "_aws" not in entry]


def reasons(local: DeployedStack) -> set[str]:
    return {record["reason"] for record in records(local)}


def executions(local: DeployedStack) -> list[str]:
    found = local.client("stepfunctions").list_executions(
        stateMachineArn=local.outputs["StateMachineArn"], statusFilter="SUCCEEDED"
    )["executions"]
    return [execution["executionArn"] for execution in found]


@pytest.mark.local
def test_enrichment_answers_keep_their_schema(seams: DeployedStack) -> None:
    states = seams.client("stepfunctions")
    seen: Counter[str] = Counter()
    for arn in executions(seams):
        for element in json.loads(states.describe_execution(executionArn=arn)["input"]):
            check(element["kind"], element)
            seen.update({element["kind"], *REFERENCES & set(element)})
    assert set(seen) == {"event", "copy", "parked", "retry", *REFERENCES}


@pytest.mark.local
def test_requests_to_the_data_action_keep_their_schema(seams: DeployedStack) -> None:
    states = seams.client("stepfunctions")
    families, bodies = set(), set()
    for arn in executions(seams):
        for entry in states.get_execution_history(executionArn=arn)["events"]:
            output = entry.get("taskSucceededEventDetails", {}).get("output", "{}")
            sent = json.loads(output).get("Payload", {}).get("sent")
            if sent:
                check("action-request", sent)
                families.add(sent["event"]["family"])
                bodies.update({"body", "bodyRef"} & set(sent["event"]))
    assert len(families) == 4
    assert bodies == {"body", "bodyRef"}


@pytest.mark.local
def test_rows_of_the_table_keep_their_schema(seams: DeployedStack) -> None:
    pages = seams.client("dynamodb").get_paginator("scan")
    seen: Counter[str] = Counter()
    for page in pages.paginate(TableName=seams.outputs["ClaimTableName"]):
        for item in page["Items"]:
            row = {name: plain(value) for name, value in item.items()}
            first = row["sk"].partition("/")[0]
            kind = first if first in ("latest", "slot", "breaker") else "claim"
            check(f"{kind}-row", row)
            seen[kind] += 1
    assert set(seen) == {"claim", "latest", "slot", "breaker"}


def plain(value: dict[str, Any]) -> Any:
    read = TypeDeserializer().deserialize(value)
    if isinstance(read, set):
        return sorted(read)
    return int(read) if isinstance(read, Decimal) else read


@pytest.mark.local
def test_outcome_records_keep_their_schema(seams: DeployedStack) -> None:
    outcomes, fields = set(), set()
    for record in records(seams):
        check("outcome-record", record)
        outcomes.add(record["outcome"])
        fields.update(record)
    assert outcomes == {"PROCESSED", "DUPLICATE", "PARKED", "RETRY"}
    schema = json.loads((SCHEMAS / "outcome-record.schema.json").read_text())
    # No route ignores an event here, and none was replayed from an archive.
    written = set(schema["properties"]) - NO_LONGER_WRITTEN - {"route", "replayName"}
    assert fields == written, "the machine writes each field, and no other"
