"""A stack that runs on this machine: emulator, deployed template, a running pipe, and a destination
that its requests go to."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError
from once_data_action import eventbridge

from once.errors import OnceError
from once.genesys.server import BUS, KEY_HEADER, GenesysServer
from once.local.aws import ACCOUNT, REGION, Emulator
from once.local.deploy import STACK_NAME, deploy
from once.local.pipe import Delivery, Observer, PipeRunner, log_failures
from once.project import TEMPLATE
from once.stack.running import Running

_ANY_ROLE = f"arn:aws:iam::{ACCOUNT}:role/any"


@dataclass(frozen=True)
class LocalStack:
    """A running stack, its parameters, and the destination that it sends to by default."""

    aws: Emulator
    pipe: PipeRunner
    destination: GenesysServer
    outputs: Mapping[str, str]
    parameters: Mapping[str, str]

    def client(self, service: str) -> Any:
        return self.aws.client(service)

    def describe(self) -> Running:
        """Returns the note by which commands find the stack."""
        return Running(
            pid=os.getpid(),
            endpoint=self.aws.endpoint,
            key=self.aws.key,
            region=REGION,
            account=ACCOUNT,
            stack=STACK_NAME,
            genesys=self.destination.url,
            genesys_key=self.destination.key,
            server=self._name_server(),
        )

    def _name_server(self) -> str | None:
        """Returns the user's server that `once dev --forward` sends to, without its path, which
        may be secret."""
        url = self.parameters["WebhookUrl"]
        if self.parameters["ActionTarget"] != "webhook" or url == self.destination.webhook_url:
            return None
        return "/".join(url.split("/")[:3])


@contextmanager
def local_stack(
    parameters: Mapping[str, str],
    script: Path | None = None,
    *,
    observer: Observer = lambda _: None,
    step: Callable[[str], None] = lambda _: None,
) -> Iterator[LocalStack]:
    """Runs until the block ends. `script` says how the destination behaves."""
    with GenesysServer(script=script) as destination:
        step("starting the AWS emulator")
        aws = Emulator.start()
        pipe = None
        try:
            target = parameters.get("ActionTarget", "genesys")
            chosen = {**destination_parameters(aws, destination, target), **parameters}
            outputs = deploy(aws, TEMPLATE, chosen, step)
            note_failure = log_failures(aws.client, outputs["PipeLogGroupName"])

            def observe(delivery: Delivery) -> None:
                note_failure(delivery)
                observer(delivery)

            pipe = PipeRunner(aws.client, outputs["PipeName"], observer=observe).start()
            yield LocalStack(aws, pipe, destination, outputs, chosen)
        except BotoCoreError as error:
            raise OnceError(
                f"The local stack stopped answering: {error}\n{aws.log_tail()}"
            ) from error
        finally:
            # Deliveries under way fail with the AWS under them, so nothing waits for their ends.
            if pipe is not None:
                pipe.close()
            aws.kill()
            if pipe is not None:
                pipe.stop()
            aws.stop()


def destination_parameters(
    aws: Emulator, destination: GenesysServer, target: str
) -> dict[str, str]:
    """Returns what makes a stack send to this destination, with a secret that it can read."""
    secret = {
        "clientId": destination.client_id,
        "clientSecret": destination.client_secret,
        "signingSecret": destination.signing_secret,
    }
    created = aws.client("secretsmanager").create_secret(
        Name="once/destination", SecretString=json.dumps(secret)
    )
    chosen = {
        "ActionTarget": target,
        "GenesysHost": destination.url,
        "WebhookUrl": destination.webhook_url,
        "DestinationSecretArn": created["ARN"],
        "MaxActionsPerMinute": "0",  # this destination has no limit
    }
    if target == "eventbridge":
        chosen["TargetArn"] = _create_target_bus(aws, destination)
    return chosen


def _create_target_bus(aws: Emulator, destination: GenesysServer) -> str:
    """Creates a bus whose rule delivers to the destination what the stack puts on it."""
    events, name = aws.client("events"), "destination"
    key = {"ApiKeyName": KEY_HEADER, "ApiKeyValue": destination.key}
    connection = events.create_connection(
        Name=name, AuthorizationType="API_KEY", AuthParameters={"ApiKeyAuthParameters": key}
    )
    delivered_to = events.create_api_destination(
        Name=name,
        ConnectionArn=connection["ConnectionArn"],
        InvocationEndpoint=destination.url + BUS,
        HttpMethod="POST",
    )
    bus = events.create_event_bus(Name=name)
    pattern = json.dumps({"source": [eventbridge.SOURCE]})
    events.put_rule(Name=name, EventBusName=name, EventPattern=pattern)
    target = {"Id": name, "Arn": delivered_to["ApiDestinationArn"], "RoleArn": _ANY_ROLE}
    events.put_targets(Rule=name, EventBusName=name, Targets=[target])
    return str(bus["EventBusArn"])
