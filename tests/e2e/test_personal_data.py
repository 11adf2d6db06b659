"""Every command of docs/personal-data.md, on the local stack: afterwards the id is nowhere."""

import json
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from once_enrichment.keys import opaque

from once.local.pipe import PipeRunner
from once.project import ROOT
from proof.deployed import DeployedStack, deployed
from proof.events import customer_start
from tests.operate.support import until

pytestmark = [
    pytest.mark.local,
    pytest.mark.skipif(
        not all(map(shutil.which, ("aws", "bash", "jq"))), reason="there is no AWS CLI, bash or jq"
    ),
]

PAGE = (ROOT / "docs" / "personal-data.md").read_text("utf-8")
TEXT = "+4915550100742"
QUEUES = ("EventQueueUrl", "EventDeadLettersUrl", "RuleDeadLettersUrl", "ParkingQueueUrl")


def commands(heading: str) -> str:
    """The commands below a heading of the page, up to the next heading."""
    _, _, text = PAGE.partition(f"## {heading}\n")
    return blocks(text.partition("\n## ")[0])


def steps(*numbers: int) -> str:
    """The commands of these steps."""
    found = re.split(r"^\*\*(\d)\. ", PAGE.partition("## Delete a stack")[0], flags=re.MULTILINE)
    texts = dict(zip(map(int, found[1::2]), found[2::2], strict=True))
    return "\n".join(blocks(texts[number]) for number in numbers)


def blocks(text: str) -> str:
    found: list[str] = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    assert found
    return "\n".join(found)


def run(stack: DeployedStack, script: str, name: str) -> None:
    """Types the commands with the id and the stack of this test."""
    script, stacks = re.subn(r"^STACK=.*$", "STACK=once", script, flags=re.MULTILINE)
    script, ids = re.subn(r"^ID=.*$", f"ID='{name}'", script, flags=re.MULTILINE)
    assert (stacks, ids) == (1, 1)
    for waits, briefly in (
        ("--visibility-timeout 900", "--visibility-timeout 20"),
        ("--wait-time-seconds 5", "--wait-time-seconds 1"),
        ("sleep 60", "sleep 1"),
    ):
        script = script.replace(waits, briefly)
    environment = stack.stack.aws.environment()
    # Version 1 of the AWS CLI takes the endpoint of SQS from nowhere else.
    aws = f'aws() {{ {shutil.which("aws")} --endpoint-url "$AWS_ENDPOINT_URL" "$@"; }}'
    answer = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"{aws}\n{script}"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (answer.returncode, answer.stderr) == (0, ""), answer.stdout


def kept(stack: DeployedStack) -> dict[str, str]:
    """Everything that the stack keeps, as text, by its place."""
    return {
        **{name: queued(stack, name) for name in QUEUES},
        "bucket": "\n".join(objects(stack)),
        "claims": json.dumps(
            stack.client("dynamodb").scan(TableName=stack.outputs["ClaimTableName"])["Items"]
        ),
        "archives": json.dumps(stack.client("events").list_archives()["Archives"], default=str),
        **logged(stack),
    }


def queued(stack: DeployedStack, name: str) -> str:
    """The bodies in a queue, which are as visible afterwards as before."""
    found: list[str] = []
    while (
        messages := stack.client("sqs")
        .receive_message(QueueUrl=stack.outputs[name], MaxNumberOfMessages=10, VisibilityTimeout=3)
        .get("Messages")
    ):
        found += [message["Body"] for message in messages]
    return "\n".join(found)


def wait_until_visible(stack: DeployedStack) -> None:
    """The commands hide for a while what they leave in a queue, and may end before it is seen."""

    def hidden(name: str) -> int:
        attribute = "ApproximateNumberOfMessagesNotVisible"
        url = stack.outputs[name]
        found = stack.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=[attribute])
        return int(found["Attributes"][attribute])

    until(lambda: not any(map(hidden, QUEUES)))


def objects(stack: DeployedStack) -> Iterator[str]:
    s3, bucket = stack.client("s3"), stack.outputs["OverflowBucketName"]
    for one in s3.list_objects_v2(Bucket=bucket).get("Contents", []):
        yield f"{one['Key']} {s3.get_object(Bucket=bucket, Key=one['Key'])['Body'].read().decode()}"


def logged(stack: DeployedStack) -> dict[str, str]:
    logs = stack.client("logs")
    pages = logs.get_paginator("filter_log_events")
    return {
        group["logGroupName"]: "\n".join(
            event["message"]
            for page in pages.paginate(logGroupName=group["logGroupName"])
            for event in page["events"]
        )
        for group in logs.describe_log_groups()["logGroups"]
    }


def settle(stack: DeployedStack, name: str) -> None:
    """Brings the id to all places that events reach by themselves."""
    stack.wait(stack.send_by_bus(customer_start(name), source_prefix="aws.partner/"))
    large = customer_start(name, participantId="large", note="x" * 220_000)
    stack.settle(customer_start(name), large, f"not JSON, and about {name}")
    stack.destination.script.add({"match": {"conversationId": name}, "replies": [422]})
    stack.settle(customer_start(name, participantId="rejected"))


def leave(stack: DeployedStack, *names: str) -> None:
    """Leaves events of each id in the queues where they wait for somebody."""
    stack.client("pipes").stop_pipe(Name=stack.outputs["PipeName"])
    stack.stack.pipe.stop()  # the stand-in notices that it is stopped a moment later
    for queue in ("EventQueueUrl", "EventDeadLettersUrl", "RuleDeadLettersUrl"):
        for name in names:
            body = json.dumps(customer_start(name, participantId="waiting"))
            stack.client("sqs").send_message(QueueUrl=stack.outputs[queue], MessageBody=body)


@pytest.fixture
def stack() -> Iterator[DeployedStack]:
    with deployed(ArchiveDays="1") as one:
        yield one


def test_every_command_of_the_page_erases_what_it_says(stack: DeployedStack) -> None:
    erased, other = str(uuid.uuid4()), str(uuid.uuid4())
    for name in (erased, other):
        settle(stack, name)
    leave(stack, erased, other)
    before = kept(stack)
    outcomes = stack.outputs["OutcomeLogGroupName"]
    places = [*QUEUES, "bucket", "claims", outcomes]
    for place in places:
        assert erased in before[place], place
        assert other in before[place], place
    assert json.loads(before["archives"])

    erase = commands("Erase an id")
    run(stack, erase, erased)
    wait_until_visible(stack)
    after = kept(stack)
    assert [place for place, text in after.items() if erased in text] == []
    for place in set(places) - {outcomes, "EventQueueUrl"}:
        assert other in after[place], place
    assert json.loads(after["archives"]) == []
    assert not any(
        record["messageId"] in after["bucket"] for record in records(before[outcomes], erased)
    )

    # The stack works on, and records again.
    stack.stack.pipe = PipeRunner(stack.client, stack.outputs["PipeName"]).start()
    (report,) = stack.settle(customer_start(str(uuid.uuid4())))
    assert report.outcome == "PROCESSED"

    # The hash of free text is one more id, which no queue and no object has.
    hashed = opaque(TEXT)
    detail = {"conversationId": TEXT, "status": "connected"}
    stack.settle({"detail-type": "Call Change", "detail": detail})
    found = kept(stack)
    assert all(hashed in found[place] for place in ("claims", outcomes))
    run(stack, steps(1, 4, 6), hashed)
    assert [place for place, text in kept(stack).items() if hashed in text] == []

    names = [stack.outputs[name] for name in ("ClaimTableName", "OverflowBucketName")]
    first = erase.partition("PIPE=")[0]
    run(stack, f"{first}\n{commands('Delete a stack with all its data')}", erased)
    assert outcomes not in logged(stack)
    assert not set(names) & {
        *stack.client("dynamodb").list_tables()["TableNames"],
        *(bucket["Name"] for bucket in stack.client("s3").list_buckets()["Buckets"]),
    }


def records(log: str, name: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in log.splitlines() if name in line]
    assert found
    return found
