"""A stack on the emulator in which nothing moves: what the commands look at, and no function.

It is there in a second, and holds what a test or a bench puts into it.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import chdir, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from once.operate.log import GROUPS
from once.operate.running import Running, kept

from once.genesys.server import GenesysServer
from once.local.aws import ACCOUNT, REGION, Emulator
from once.local.deploy import STACK_NAME
from proof.template import CLAIM_TABLE

T = TypeVar("T")
_QUEUES = ("EventQueue", "EventDeadLetters", "RuleDeadLetters", "ParkingQueue")
_STREAM = {"logGroupName": "outcomes", "logStreamName": "outcomes"}
_LOG_BATCH = 5_000  # PutLogEvents takes 10,000 and 1 MiB; a record has some 200 bytes


class Still:
    """The resources by their outputs, as those of a deployed stack."""

    def __init__(self, aws: Emulator) -> None:
        self._aws = aws
        self.client = aws.client
        self.outputs = dict(self._resources())
        self._describe()

    def records(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Into the outcome log; each says with `recordedAtMs` when it was logged, oldest first."""
        for some in _parts(records, _LOG_BATCH):
            self.client("logs").put_log_events(
                logEvents=[_line(dict(record)) for record in some], **_STREAM
            )

    def claims(self, rows: Iterable[Mapping[str, Any]]) -> None:
        table = self.outputs["ClaimTableName"]
        for some in _parts(rows, 25):
            puts = [{"PutRequest": {"Item": _item(row)}} for row in some]
            self.client("dynamodb").batch_write_item(RequestItems={table: puts})

    def letter(self, output: str, body: str, **attributes: str) -> str:
        """A message in the queue of this output; its id."""
        sent = self.client("sqs").send_message(
            QueueUrl=self.outputs[output],
            MessageBody=body,
            MessageAttributes={
                name: {"DataType": "String", "StringValue": value}
                for name, value in attributes.items()
            },
        )
        return str(sent["MessageId"])

    def clear(self) -> None:
        """Empty queues and an empty log; claims stay."""
        for url in (value for name, value in self.outputs.items() if name.endswith("Url")):
            self.client("sqs").purge_queue(QueueUrl=url)
        self.client("logs").delete_log_stream(**_STREAM)
        self.client("logs").create_log_stream(**_STREAM)

    @contextmanager
    def up(self, folder: Path, destination: GenesysServer | None = None) -> Iterator[None]:
        """It is the local stack that is up in this folder, where commands are typed."""
        with chdir(folder), kept() as note:
            note(
                Running(
                    pid=os.getpid(),
                    endpoint=self._aws.endpoint,
                    key=self._aws.key,
                    region=REGION,
                    account=ACCOUNT,
                    stack=STACK_NAME,
                    genesys=destination.url if destination else "http://127.0.0.1:1",
                    genesys_key=destination.key if destination else "",
                )
            )
            yield

    def _resources(self) -> Iterator[tuple[str, str]]:
        for name in _QUEUES:
            created = self.client("sqs").create_queue(QueueName=name)
            yield f"{name}Url", created["QueueUrl"]
        self.client("dynamodb").create_table(TableName="claims", **CLAIM_TABLE)
        yield "ClaimTableName", "claims"
        logs = self.client("logs")
        logs.create_log_group(logGroupName=_STREAM["logGroupName"])
        logs.create_log_stream(**_STREAM)
        yield "OutcomeLogGroupName", _STREAM["logGroupName"]
        for part, output in GROUPS.items():
            logs.create_log_group(logGroupName=part)
            yield output, part
        yield "EnrichmentFunctionName", "enrichment"
        arn = f"arn:aws:%s:{REGION}:{ACCOUNT}:%s"
        role = f"arn:aws:iam::{ACCOUNT}:role/still"
        queue = arn % ("sqs", "EventQueue")
        machine = self.client("stepfunctions").create_state_machine(
            name="still",
            roleArn=role,
            type="EXPRESS",
            definition=json.dumps({"StartAt": "End", "States": {"End": {"Type": "Succeed"}}}),
        )["stateMachineArn"]
        yield "StateMachineArn", machine
        self.client("pipes").create_pipe(Name="still", RoleArn=role, Source=queue, Target=machine)
        yield "PipeName", "still"
        yield "MaxActionsPerMinute", "0"
        self.client("s3").create_bucket(
            Bucket="overflow", CreateBucketConfiguration={"LocationConstraint": REGION}
        )
        yield "OverflowBucketName", "overflow"
        events = self.client("events")
        events.put_rule(Name="still-events", EventPattern='{"source": [{"prefix": "still"}]}')
        events.put_targets(Rule="still-events", Targets=[{"Id": "queue", "Arn": queue}])
        archive = events.create_archive(
            ArchiveName="still",
            EventSourceArn=arn % ("events", "event-bus/default"),
            RetentionDays=14,
        )
        yield "EventArchiveArn", archive["ArchiveArn"]
        yield "EventRuleName", "still-events"
        yield "EventBusName", "default"

    def _describe(self) -> None:
        """A stack with these outputs."""
        template = {
            "Resources": {"Topic": {"Type": "AWS::SNS::Topic"}},
            "Outputs": {name: {"Value": value} for name, value in self.outputs.items()},
        }
        formation = self.client("cloudformation")
        formation.create_stack(StackName=STACK_NAME, TemplateBody=json.dumps(template))
        formation.get_waiter("stack_create_complete").wait(
            StackName=STACK_NAME, WaiterConfig={"Delay": 0.05}
        )


@contextmanager
def still() -> Iterator[Still]:
    with Emulator.start() as aws:
        yield Still(aws)


def _parts(things: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(things)
    while part := list(islice(rest, size)):
        yield part


def _line(record: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": record.pop("recordedAtMs"), "message": json.dumps(record)}


def _item(row: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {
        name: {"N": str(value)} if isinstance(value, int) else {"S": str(value)}
        for name, value in row.items()
    }
