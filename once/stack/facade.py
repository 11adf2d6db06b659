"""The stack that a command works on, the local one or a deployed one, what AWS knows of it, and
what AWS refused."""

import os
import time
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import boto3
from botocore import exceptions as aws
from botocore.config import Config
from once_data_action import breaker

from once.errors import OnceError
from once.model import words
from once.model.findings import KINDS, OPERATOR_POLICY
from once.model.records import Claim, Latest, Subject, read_rows
from once.model.status import Breaker, Depth
from once.project import read_samconfig
from once.session import open_anonymous_session
from once.stack import running
from once.stack.running import Running

LOCAL = "local"
_OURS = "EventQueueUrl"


def read_clock_ms() -> int:
    return time.time_ns() // 1_000_000


class Stack:
    """Its outputs by name, its parameters, and clients of the AWS that it is in."""

    def __init__(self, session: Any, name: str, up: Running | None = None) -> None:
        self.name = name
        self.up = up
        self._session = session
        self._clients: dict[str, Any] = {}

    @classmethod
    def find(cls, name: str | None, region: str | None, profile: str | None) -> "Stack":
        """Finds the one that is named; else the local one that is up here, or samconfig.toml's."""
        elsewhere = region is not None or profile is not None
        if name == LOCAL and elsewhere:
            raise OnceError("The local stack is in no region and no profile: leave them out.")
        up = running.find() if name in (None, LOCAL) and not elsewhere else None
        if up is not None:
            return cls.at(up)
        if name == LOCAL:
            raise OnceError("No local stack is up in this folder. Start one with: once up")
        configured = read_samconfig()
        name = name or configured.get("stack_name")
        if name is None:
            raise OnceError(
                "Which stack? No local one is up here, and no samconfig.toml names another.\n"
                "Add --stack NAME, or start a local one with: once up"
            )
        # boto3 itself reads only AWS_DEFAULT_REGION; users of the AWS CLI expect this one, too.
        region = region or os.environ.get("AWS_REGION") or configured.get("region")
        session = boto3.session.Session(profile_name=profile, region_name=region)
        return cls(session, name)

    @classmethod
    def at(cls, up: Running) -> "Stack":
        """Returns the local stack that this note describes."""
        return cls(open_anonymous_session(), up.stack, up)

    def client(self, service: str) -> Any:
        if service not in self._clients:
            here: dict[str, Any] = {}
            if self.up is not None:
                here = {
                    "endpoint_url": self.up.endpoint,
                    "region_name": self.up.region,
                    "aws_access_key_id": self.up.account,
                    "aws_secret_access_key": LOCAL,
                    "aws_session_token": self.up.key,
                }
            config = Config(retries={"mode": "standard"}, connect_timeout=5)
            self._clients[service] = self._session.client(service, config=config, **here)
        return self._clients[service]

    @property
    def is_local(self) -> bool:
        return self.up is not None

    @cached_property
    def outputs(self) -> Mapping[str, str]:
        outputs = {o["OutputKey"]: o["OutputValue"] for o in self._described.get("Outputs", [])}
        if _OURS not in outputs:
            raise OnceError(
                f"The stack {self.name} is not one of genesys-once: it has no output {_OURS}.\n"
                "Name another one with --stack."
            )
        return outputs

    @cached_property
    def parameters(self) -> Mapping[str, str]:
        return {
            p["ParameterKey"]: p["ParameterValue"] for p in self._described.get("Parameters", [])
        }

    @property
    def only_observes(self) -> bool:
        """True if events are claimed and recorded, and nothing is sent."""
        return self.parameters.get("ActionTarget") == "none"

    def read_claims(self, subject: Subject) -> tuple[list[Claim], list[Latest]]:
        """Reads every row of one subject, the claims in the order of their events."""
        pages = self.client("dynamodb").get_paginator("query")
        answers = pages.paginate(
            TableName=self.outputs["ClaimTableName"],
            KeyConditionExpression="pk = :pk",
            ExpressionAttributeValues={":pk": {"S": str(subject)}},
        )
        return read_rows(item for page in answers for item in page["Items"])

    def read_breaker(self, now_ms: int) -> Breaker:
        request = breaker.read(self.outputs["ClaimTableName"])
        return Breaker.parse(self.client("dynamodb").get_item(**request).get("Item"), now_ms)

    def read_depth(self, output: str) -> Depth:
        """Reads the depth of the queue that this output names."""
        names = {
            "visible": "ApproximateNumberOfMessages",
            "in_flight": "ApproximateNumberOfMessagesNotVisible",
            "delayed": "ApproximateNumberOfMessagesDelayed",
        }
        attributes = self.client("sqs").get_queue_attributes(
            QueueUrl=self.outputs[output], AttributeNames=list(names.values())
        )["Attributes"]
        return Depth.model_validate({name: attributes[key] for name, key in names.items()})

    def read_pipe(self) -> tuple[str, str]:
        """Reads the state of the pipe, and why AWS stopped it."""
        pipe = self.client("pipes").describe_pipe(Name=self.outputs["PipeName"])
        return pipe["CurrentState"], pipe.get("StateReason") or ""

    @property
    def region(self) -> str:
        return self.outputs["StateMachineArn"].split(":")[3]

    @property
    def account(self) -> str:
        return self.outputs["StateMachineArn"].split(":")[4]

    def __str__(self) -> str:
        if self.up is not None:
            return f"the local stack at {self.up.endpoint}"
        return f"the stack {self.name} in {self.region}, account {self.account}"

    @cached_property
    def _described(self) -> Mapping[str, Any]:
        answer = self.client("cloudformation").describe_stacks(StackName=self.name)
        described: Mapping[str, Any] = answer["Stacks"][0]
        return described


_UNKNOWN = "AWS does not know these credentials."
_EXPIRED = "These credentials have expired."
_OF_CREDENTIALS = {
    "InvalidClientTokenId": _UNKNOWN,
    "UnrecognizedClientException": _UNKNOWN,
    "SignatureDoesNotMatch": _UNKNOWN,
    "InvalidSignatureException": _UNKNOWN,
    "AuthFailure": _UNKNOWN,
    "ExpiredToken": _EXPIRED,
    "ExpiredTokenException": _EXPIRED,
    "RequestExpired": _EXPIRED,
}
_NOT_ALLOWED = {
    "AccessDenied",
    "AccessDeniedException",
    "AuthorizationError",
    "UnauthorizedOperation",
    "KMS.AccessDeniedException",
}
_OF_THE_TABLE = {"GetItem", "Query", "UpdateItem", "DeleteItem", "TransactWriteItems"}
_LOG_IN = "Log in (for SSO: aws sso login), or name another profile with --profile."


def explain_refusal(error: aws.BotoCoreError | aws.ClientError, is_local: bool) -> OnceError:
    """Says what a person at the terminal can do about an error of AWS."""
    if isinstance(error, aws.ClientError):
        return OnceError(_describe_refused(error))
    if is_local:
        return OnceError(
            f"The local stack does not answer: {error}\nStart it again with: once down, once up"
        )
    return OnceError(_describe_unreached(error))


def lacks_permission(error: aws.ClientError) -> bool:
    return error.response.get("Error", {}).get("Code") in _NOT_ALLOWED


def _describe_refused(error: aws.ClientError) -> str:
    refused = error.response.get("Error", {})
    code, message = str(refused.get("Code", "")), refused.get("Message", str(error))
    if code in _OF_CREDENTIALS:
        return f"{_OF_CREDENTIALS[code]}\n{_LOG_IN}"
    if lacks_permission(error):
        return (
            f"These credentials lack a permission: {message}\n"
            f"The policy that the commands need is {OPERATOR_POLICY}."
        )
    if code == "ValidationError" and "does not exist" in message:
        return (
            f"{message}.\nName the stack with --stack, its region with --region, and whose account "
            "with --profile."
        )
    refusal = f"AWS refused {error.operation_name}: {message} ({code})."
    if error.operation_name in _OF_THE_TABLE:
        kind = KINDS["TABLE_UNREADABLE"]
        refusal = f"{refusal}\n{words.capitalise(kind.remedy)}: docs/runbook.md#{kind.page}"
    return refusal


def _describe_unreached(error: aws.BotoCoreError) -> str:
    match error:
        case aws.NoRegionError():
            return (
                "No region is set. Add --region, e.g. --region eu-central-1, or set AWS_REGION.\n"
                "To try the commands on this machine first: once up"
            )
        case aws.ProfileNotFound():
            return (
                f"{error}.\nThe profiles of this machine are listed by: aws configure list-profiles"
            )
        case aws.ConnectionError() | aws.HTTPClientError():
            return f"AWS cannot be reached: {error}\nIs the region spelled right, the network up?"
    # What is left of botocore's own errors is a login: SSO, a role, a process, or none at all.
    return f"{str(error).rstrip('.')}.\n{_LOG_IN}"
