"""The stack that a command works on: the local one that is up, or a deployed one."""

import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import boto3
from botocore.config import Config

from once.errors import OnceError
from once.stack import running
from once.stack.running import Running
from once.project import read_samconfig
from once.session import open_anonymous_session

LOCAL = "local"
_OURS = "EventQueueUrl"


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
            return cls(open_anonymous_session(), up.stack, up)
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

    def reconnect(self) -> bool:
        """Finds a local stack again that was started anew; returns true if it is another one."""
        found = running.find() if self.up else None
        if found is None or found == self.up:
            return False
        self.up = found
        self._clients = {}
        for name in ("outputs", "parameters", "_described"):
            self.__dict__.pop(name, None)
        return True

    @property
    def is_local(self) -> bool:
        return self.up is not None

    @cached_property
    def outputs(self) -> Mapping[str, str]:
        found = {o["OutputKey"]: o["OutputValue"] for o in self._described.get("Outputs", [])}
        if _OURS not in found:
            raise OnceError(
                f"The stack {self.name} is not one of genesys-once: it has no output {_OURS}.\n"
                "Name another one with --stack."
            )
        return found

    @cached_property
    def parameters(self) -> Mapping[str, str]:
        return {
            p["ParameterKey"]: p["ParameterValue"] for p in self._described.get("Parameters", [])
        }

    @property
    def only_observes(self) -> bool:
        """Events are claimed and recorded, and nothing is sent."""
        given = self.parameters
        return given.get("ActionTarget") == "none" and not given.get("ActionFunctionArn")

    @property
    def region(self) -> str:
        return self.outputs["StateMachineArn"].split(":")[3]

    @property
    def account(self) -> str:
        return self.outputs["StateMachineArn"].split(":")[4]

    def queue_name(self, output: str) -> str:
        return self.outputs[output].rpartition("/")[2]

    def __str__(self) -> str:
        if self.up is not None:
            return f"the local stack at {self.up.endpoint}"
        return f"the stack {self.name} in {self.region}, account {self.account}"

    @cached_property
    def _described(self) -> Mapping[str, Any]:
        answer = self.client("cloudformation").describe_stacks(StackName=self.name)
        described: Mapping[str, Any] = answer["Stacks"][0]
        return described
