"""Creates and removes what a run needs where it asks: an account and region, or the emulator."""

import json
import re
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from botocore.exceptions import ClientError

from once.errors import OnceError
from proof.prove.ledger import Ledger, Thing

_POLL_SECONDS = 2.0
_ROLE_SECONDS = 15
_TRIES = 3
_CHANGING = re.compile("(CREATE|UPDATE|ROLLBACK)_(.*_)?IN_PROGRESS")
_TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"Service": "states.amazonaws.com"},
            "Action": "sts:AssumeRole",
        }
    ],
}
_READS = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Action": "dynamodb:GetItem",
            "Resource": "arn:aws:dynamodb:*:*:table/once-prove-*",
        }
    ],
}
_GONE = {"NoSuchBucket", "NoSuchEntity", "ResourceNotFoundException", "404"}
# What a stack leaves standing when it is deleted, by the type of its resources.
RETAINED: Mapping[str, str | None] = {
    "AWS::DynamoDB::Table": "table",
    "AWS::Logs::LogGroup": "log group",
    "AWS::Logs::LogStream": None,  # goes with its group
    "AWS::S3::Bucket": "bucket",
}
Step = Callable[[str], None]


class Place(Protocol):
    """An AWS to ask."""

    region: str
    is_local: bool

    def client(self, service: str) -> Any: ...


class Site:
    """The things that the questions of one run share. The ledger has each before it is created."""

    def __init__(self, place: Place, ledger: Ledger, step: Step = lambda _: None) -> None:
        self.place = place
        self.run = ledger.run
        self.ledger = ledger
        self.step = step
        self.dollars: float | None = None
        self._bucket: str | None = None
        self._role: str | None = None
        self._role_reads = False

    def client(self, service: str) -> Any:
        return self.place.client(service)

    def bucket(self) -> str:
        """Returns the bucket of the run, since AWS reads some things only from S3."""
        if self._bucket is None:
            self.ledger.creating("bucket", self.run)
            region = self.place.region
            # us-east-1 is the one that must not be named.
            where: Mapping[str, Any] = (
                {}
                if region == "us-east-1"
                else {"CreateBucketConfiguration": {"LocationConstraint": region}}
            )
            self.client("s3").create_bucket(Bucket=self.run, **where)
            self._bucket = self.run
        return self._bucket

    def role(self, *, reads: bool = False) -> str:
        """Creates the role that TestState needs if nothing is mocked. It has no permission, or one:
        to read tables of runs."""
        if self._role is None:
            self.ledger.creating("role", self.run)
            created = self.client("iam").create_role(
                RoleName=self.run,
                AssumeRolePolicyDocument=json.dumps(_TRUST),
                Description="make prove: has no permissions, and is deleted when the run ends.",
            )
            self.wait(_ROLE_SECONDS)  # until all of IAM knows it
            self._role = str(created["Role"]["Arn"])
        if reads and not self._role_reads:
            self.client("iam").put_role_policy(
                RoleName=self.run, PolicyName="reads", PolicyDocument=json.dumps(_READS)
            )
            self.wait(_ROLE_SECONDS)
            self._role_reads = True
        return self._role

    def wait(self, seconds: float) -> None:
        """Waits, but hardly on the emulator, which finishes everything immediately."""
        time.sleep(min(seconds, 0.02) if self.place.is_local else seconds)

    def clean(self) -> None:
        """Deletes all that is in the ledger, the youngest first, and then the ledger."""
        while left := self.ledger.left():
            thing = left[0]
            self.step(f"deleting the {thing.kind} {thing.name}")
            try:
                _REMOVE[thing.kind](self, thing)
            except ClientError as error:
                if error.response["Error"]["Code"] not in _GONE:
                    raise
            self.ledger.gone(thing)
        self.ledger.close()


def new_run() -> str:
    """A name that is free in every account: buckets share theirs with the whole world."""
    return f"once-prove-{secrets.token_hex(5)}"


def _remove_bucket(site: Site, thing: Thing) -> None:
    s3 = site.client("s3")
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=thing.name):
        for found in page.get("Contents", []):
            s3.delete_object(Bucket=thing.name, Key=found["Key"])
    s3.delete_bucket(Bucket=thing.name)


def _remove_role(site: Site, thing: Thing) -> None:
    iam = site.client("iam")
    for name in iam.list_role_policies(RoleName=thing.name)["PolicyNames"]:
        iam.delete_role_policy(RoleName=thing.name, PolicyName=name)
    iam.delete_role(RoleName=thing.name)


def _remove_stack(site: Site, thing: Thing) -> None:
    """Deletes a stack; resources that CloudFormation retains go into the ledger first."""
    cloudformation = site.client("cloudformation")
    stack = _stack(cloudformation, thing.name)
    # What it is creating may not be listed yet, and it refuses to delete what it is changing.
    while stack is not None and _CHANGING.fullmatch(stack["StackStatus"]):
        site.wait(_POLL_SECONDS)
        stack = _stack(cloudformation, thing.name)
    if stack is None:
        return
    for kind, name in _retained(cloudformation, thing.name):
        site.ledger.creating(kind, name)
    cloudformation.delete_stack(StackName=thing.name)
    tries = 1
    while (stack := _stack(cloudformation, thing.name)) is not None:
        if stack["StackStatus"] == "DELETE_FAILED":
            if tries == _TRIES:
                raise OnceError(
                    f"The stack {thing.name} cannot be deleted: "
                    f"{stack.get('StackStatusReason', 'CloudFormation does not say why')}\n"
                    "Delete it in the CloudFormation console, then run: make prove ARGS=--clean"
                )
            tries += 1
            cloudformation.delete_stack(StackName=thing.name)
        site.wait(_POLL_SECONDS)


def _stack(cloudformation: Any, name: str) -> Any:
    try:
        stack = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":
            return None
        raise
    return None if stack["StackStatus"] == "DELETE_COMPLETE" else stack


def _retained(cloudformation: Any, name: str) -> list[tuple[str, str]]:
    found = []
    for page in cloudformation.get_paginator("list_stack_resources").paginate(StackName=name):
        for resource in page["StackResourceSummaries"]:
            kind = RETAINED.get(resource["ResourceType"])
            if kind is not None and resource.get("PhysicalResourceId"):
                found.append((kind, resource["PhysicalResourceId"]))
    return found


def _remove_table(site: Site, thing: Thing) -> None:
    dynamodb = site.client("dynamodb")
    table = dynamodb.describe_table(TableName=thing.name)["Table"]
    if table.get("DeletionProtectionEnabled"):
        dynamodb.update_table(TableName=thing.name, DeletionProtectionEnabled=False)
    dynamodb.delete_table(TableName=thing.name)


def _remove_log_group(site: Site, thing: Thing) -> None:
    site.client("logs").delete_log_group(logGroupName=thing.name)


def _remove_bus(site: Site, thing: Thing) -> None:
    site.client("events").delete_event_bus(Name=thing.name)  # no error if there is none


_REMOVE: dict[str, Callable[[Site, Thing], None]] = {
    "bucket": _remove_bucket,
    "bus": _remove_bus,
    "log group": _remove_log_group,
    "role": _remove_role,
    "stack": _remove_stack,
    "table": _remove_table,
}
