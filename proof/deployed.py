"""The project deployed on an emulator, as tests see it: send, wait, look at what is left."""

import itertools
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from once.genesys.server import GenesysServer
from once.lines import Line
from once.local import stack as local_stacks
from once.local.aws import Emulator
from once.local.deploy import BUCKET, STACK_NAME, Stack, deploy, local_parameters, read_outputs
from once.local.stack import LocalStack
from once.run.local import local_stack
from once.run.report import LineReport
from once.run.tracker import Tracker
from once.sending import send_to_bus, send_to_queue


class DeployedStack:
    """One stack for many tests: each uses conversations of its own and looks only at those."""

    def __init__(self, stack: LocalStack, destination: GenesysServer) -> None:
        self.stack = stack
        self.outputs = stack.outputs
        self.destination = destination
        self._tracker = Tracker(stack.client, stack.outputs)
        self._numbers = itertools.count(1)

    def client(self, service: str) -> Any:
        return self.stack.client(service)

    def send(self, *bodies: str | Mapping[str, Any]) -> list[Line]:
        """Into the queue, as the rule delivers."""
        lines = self._lines(bodies)
        self._tracker.follow(send_to_queue(self.client, self.outputs, lines))
        return lines

    def send_by_bus(self, *bodies: str | Mapping[str, Any], source_prefix: str) -> list[Line]:
        lines = self._lines(bodies)
        sent = send_to_bus(self.client, self.outputs, lines, source_prefix)
        self._tracker.follow(sent)
        return lines

    def settle(self, *bodies: str | Mapping[str, Any]) -> list[LineReport]:
        """Send, and wait until each is settled."""
        return self.wait(self.send(*bodies))

    def wait(self, lines: list[Line], seconds: float = 120) -> list[LineReport]:
        until = time.monotonic() + seconds

        def give_up_in_time(_: object) -> None:
            assert time.monotonic() < until, [self._tracker.report(line) for line in lines]

        self._tracker.wait_for_one([lines], give_up_in_time)
        return [self._tracker.report(line) for line in lines]

    def rows(self, pk: str) -> dict[str, dict[str, Any]]:
        """Every claim of one subject, by sort key."""
        found = self.client("dynamodb").query(
            TableName=self.outputs["ClaimTableName"],
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": pk}},
            ConsistentRead=True,
        )["Items"]
        return {
            item["sk"]["S"]: {k: next(iter(v.values())) for k, v in item.items()} for item in found
        }

    def parked(self) -> list[dict[str, Any]]:
        """The bodies in the parking queue; each is seen once."""
        return [json.loads(message["Body"]) for message in self.take("ParkingQueueUrl")]

    def take(self, queue: str) -> Iterator[dict[str, Any]]:
        """The messages of a queue, named by its output; they are gone from it afterwards."""
        sqs, url = self.client("sqs"), self.outputs[queue]
        while messages := sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]
        ).get("Messages"):
            for message in messages:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                yield message

    def _lines(self, bodies: tuple[str | Mapping[str, Any], ...]) -> list[Line]:
        return [
            Line(next(self._numbers), body if isinstance(body, str) else json.dumps(body))
            for body in bodies
        ]


@contextmanager
def deployed(**parameters: str) -> Iterator[DeployedStack]:
    """A stack with a destination of its own; `parameters` are the template's."""
    with ExitStack() as ended:
        with patch.object(local_stacks, "deploy", _deploy):
            local = ended.enter_context(local_stack(parameters))
        yield DeployedStack(local.stack, local.destination)


@dataclass(frozen=True)
class _Package:
    """Holds what `sam deploy` uploaded of a build: the template, and what it names."""

    built: Path
    objects: Mapping[str, bytes]


_packages: list[_Package] = []


def _deploy(aws: Emulator, template: Path, parameters: Mapping[str, str], *_: object) -> Stack:
    """Runs `sam deploy` for the first stack of a process, and creates the next ones from what it
    uploaded: `sam deploy` takes most of the processor's time that a stack costs."""
    s3, cloudformation = aws.client("s3"), aws.client("cloudformation")
    if not _packages:
        stack = deploy(aws, template, parameters)
        keys = [one["Key"] for one in s3.list_objects_v2(Bucket=BUCKET)["Contents"]]
        objects = {key: s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in keys}
        _packages.append(_Package(stack.built, objects))
        return stack
    package = _packages[0]
    region = {"LocationConstraint": s3.meta.region_name}
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration=region)
    for key, content in package.objects.items():
        s3.put_object(Bucket=BUCKET, Key=key, Body=content)
    (uploaded,) = (key for key in package.objects if key.endswith(".template"))
    chosen = local_parameters() | parameters
    cloudformation.create_stack(
        StackName=STACK_NAME,
        TemplateURL=f"https://s3.amazonaws.com/{BUCKET}/{uploaded}",
        Parameters=[{"ParameterKey": k, "ParameterValue": v} for k, v in chosen.items()],
        Capabilities=["CAPABILITY_IAM"],
    )
    cloudformation.get_waiter("stack_create_complete").wait(
        StackName=STACK_NAME, WaiterConfig={"Delay": 0.2, "MaxAttempts": 600}
    )
    return Stack(package.built, read_outputs(cloudformation, STACK_NAME))
