"""The stack that a command works on: the embedded one that is up, or a deployed one."""

import os
import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from once.embedded.aws import ACCOUNT, REGION, session_of_nobody
from once.errors import OnceError
from once.operate import running
from once.operate.running import Running
from once.project import ROOT

EMBEDDED = "embedded"
_OURS = "EventQueueUrl"


class Stack:
    """Its outputs by name, its parameters, and clients of the AWS that it is in."""

    def __init__(self, session: Any, name: str, up: Running | None = None) -> None:
        self.name = name
        self.embedded = up is not None
        self.up = up
        self._session = session
        self._clients: dict[str, Any] = {}

    @classmethod
    def find(cls, name: str | None, region: str | None, profile: str | None) -> "Stack":
        """Not told otherwise, the embedded one that is up here, else the one of samconfig.toml."""
        elsewhere = region is not None or profile is not None
        if name == EMBEDDED and elsewhere:
            raise OnceError("The embedded stack is in no region and no profile: leave them out.")
        up = running.find() if name in (None, EMBEDDED) and not elsewhere else None
        if up is not None:
            return cls(session_of_nobody(Path("/dev/null")), up.stack, up)
        if name == EMBEDDED:
            raise OnceError("No embedded stack is up in this folder. Start one with: once up")
        configured = _samconfig()
        name = name or configured.get("stack_name")
        if name is None:
            raise OnceError(
                "Which stack? No embedded one is up here, and no samconfig.toml names another.\n"
                "Add --stack NAME, or start an embedded one with: once up"
            )
        # boto3 itself reads only AWS_DEFAULT_REGION; the AWS CLI sets people's minds on this one.
        region = region or os.environ.get("AWS_REGION") or configured.get("region")
        session = boto3.session.Session(profile_name=profile, region_name=region)
        return cls(session, name)

    def client(self, service: str) -> Any:
        if service not in self._clients:
            here: dict[str, Any] = {}
            if self.up is not None:
                here = {
                    "endpoint_url": self.up.endpoint,
                    "region_name": REGION,
                    "aws_access_key_id": ACCOUNT,
                    "aws_secret_access_key": EMBEDDED,
                }
            config = Config(retries={"mode": "standard"}, connect_timeout=5)
            self._clients[service] = self._session.client(service, config=config, **here)
        return self._clients[service]

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
        """Events are claimed and recorded as if they acted, and nobody is called."""
        given = self.parameters
        return given.get("ActionTarget") == "none" and not given.get("ActionFunctionArn")

    @property
    def region(self) -> str:
        return self.outputs["StateMachineArn"].split(":")[3]

    @property
    def account(self) -> str:
        return self.outputs["StateMachineArn"].split(":")[4]

    def __str__(self) -> str:
        if self.up is not None:
            return f"the embedded stack at {self.up.endpoint}"
        return f"the stack {self.name} in {self.region}, account {self.account}"

    @cached_property
    def _described(self) -> Mapping[str, Any]:
        answer = self.client("cloudformation").describe_stacks(StackName=self.name)
        described: Mapping[str, Any] = answer["Stacks"][0]
        return described


def _samconfig() -> dict[str, str]:
    """Stack and region as `sam deploy` would take them, of this folder or of the clone."""
    for folder in (Path.cwd(), ROOT):
        path = folder / "samconfig.toml"
        if path.is_file():
            break
    else:
        return {}
    try:
        default = tomllib.loads(path.read_text()).get("default", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OnceError(f"{path} is not TOML: {error}.") from error
    chosen: dict[str, str] = {}
    for command in ("global", "deploy"):
        chosen |= default.get(command, {}).get("parameters", {})
    return {name: chosen[name] for name in ("stack_name", "region") if name in chosen}
