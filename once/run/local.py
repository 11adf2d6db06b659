"""A stack on this machine, with a destination that its requests go to."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from once_data_action import eventbridge

from once.genesys.server import BUS, KEY_HEADER, GenesysServer
from once.local.aws import ACCOUNT, Emulator
from once.local.pipe import Observer
from once.local.stack import LocalStack

_ANY_ROLE = f"arn:aws:iam::{ACCOUNT}:role/any"


@dataclass(frozen=True)
class Local:
    """A running stack, its parameters, and the destination that it sends to by default."""

    stack: LocalStack
    destination: GenesysServer
    parameters: Mapping[str, str]


@contextmanager
def local_stack(
    parameters: Mapping[str, str],
    script: Path | None = None,
    *,
    template: Path | None = None,
    observer: Observer = lambda _: None,
    step: Callable[[str], None] = lambda _: None,
) -> Iterator[Local]:
    """Runs until the block ends. `script` says how the destination behaves."""
    chosen: dict[str, str] = {}

    def choose(aws: Emulator) -> dict[str, str]:
        chosen.update(destination_parameters(aws, destination))
        chosen.update(parameters)
        return chosen

    with GenesysServer(script=script) as destination:
        stack = LocalStack.start(choose, template=template, observer=observer, step=step)
        try:
            yield Local(stack, destination, chosen)
        finally:
            stack.stop(at_once=True)


def destination_parameters(aws: Emulator, destination: GenesysServer) -> dict[str, str]:
    """Returns what makes a stack send to this destination, with a secret that it can read."""
    secret = {
        "clientId": destination.client_id,
        "clientSecret": destination.client_secret,
        "signingSecret": destination.signing_secret,
    }
    created = aws.client("secretsmanager").create_secret(
        Name="once/destination", SecretString=json.dumps(secret)
    )
    return {
        "ActionTarget": "genesys",
        "GenesysHost": destination.url,
        "WebhookUrl": destination.webhook_url,
        "DestinationSecretArn": created["ARN"],
        "TargetBusArn": _target_bus(aws, destination),
        "MaxActionsPerMinute": "0",  # this destination has no limit
    }


def _target_bus(aws: Emulator, destination: GenesysServer) -> str:
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
