"""A stack that runs on this machine: emulator, deployed template, a running pipe, and a destination
that its requests go to. Commands that start one share its options.

As a program, this keeps a stack up for `once up`: its plan comes as JSON on stdin, and it tells its
parent on stdout, in lines of JSON, which step it is at and how that ended.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from botocore.exceptions import BotoCoreError, ClientError

from once.errors import OnceError
from once.genesys.server import GenesysServer
from once.local.aws import ACCOUNT, REGION, Emulator
from once.local.deploy import STACK_NAME, deploy
from once.local.pipe import PipeRunner, log_failures
from once.stack.running import Running, kept

_FILE = "file://"
_LOOK_SECONDS = 1


def _read_parameters(
    _: click.Context, __: click.Parameter, given: tuple[str, ...]
) -> dict[str, str]:
    chosen = {}
    for assignment in given:
        name, equals, value = assignment.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{assignment!r} is not Parameter=Value")
        if value.startswith(_FILE):
            path = value.removeprefix(_FILE)
            try:
                value = Path(path).read_text().rstrip("\n")
            except OSError as error:
                raise OnceError(f"Cannot read {path}: {error.strerror}.") from error
        chosen[name] = value
    return chosen


SET = click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="PARAMETER=VALUE",
    callback=_read_parameters,
    help="Set a parameter of template.yaml. file://PATH reads a secret value from a file, since "
    "other users of this machine can read arguments.",
)
SCRIPT = click.option(
    "--destination",
    "script",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="How the destination behaves, as JSON (docs/data-action.md).",
)


@dataclass(frozen=True)
class LocalStack:
    """A running stack, its parameters, and the destination that it sends to by default."""

    aws: Emulator
    destination: GenesysServer
    outputs: Mapping[str, str]
    parameters: Mapping[str, str]

    def client(self, service: str) -> Any:
        return self.aws.client(service)

    def describe(self) -> Running:
        """Returns the note by which commands find the stack."""
        is_webhook = self.parameters["ActionTarget"] == "webhook"
        is_own = self.parameters["WebhookUrl"] == self.destination.webhook_url
        return Running(
            pid=os.getpid(),
            endpoint=self.aws.endpoint,
            key=self.aws.key,
            region=REGION,
            account=ACCOUNT,
            stack=STACK_NAME,
            genesys=self.destination.url,
            genesys_key=self.destination.key,
            server=self.name_target() if is_webhook and not is_own else None,
        )

    def name_target(self) -> str:
        """Names where requests go: a webhook without its path, which may be secret."""
        match self.parameters["ActionTarget"]:
            case "none":
                return "none: events are claimed and recorded, nothing is sent"
            case "webhook":
                return "/".join(self.parameters["WebhookUrl"].split("/")[:3])
            case "eventbridge" | "lambda":
                return self.parameters["TargetArn"]
        return self.parameters["GenesysHost"]


@contextmanager
def local_stack(
    parameters: Mapping[str, str], script: Path | None, step: Callable[[str], None]
) -> Iterator[LocalStack]:
    """Runs until the block ends. `script` says how the destination behaves."""
    with GenesysServer(script=script) as destination:
        step("starting the AWS emulator")
        with Emulator.start() as aws:
            try:
                target = parameters.get("ActionTarget", "genesys")
                chosen = {**destination_parameters(aws, destination, target), **parameters}
                outputs = deploy(aws, chosen, step)
                observer = log_failures(aws.client, outputs["PipeLogGroupName"])
                with PipeRunner(aws.client, outputs["PipeName"], observer=observer) as pipe:
                    try:
                        yield LocalStack(aws, destination, outputs, chosen)
                    finally:
                        # Deliveries fail with the AWS under them: nothing waits for their ends.
                        pipe.close()
                        aws.kill()
            except BotoCoreError as error:
                raise OnceError(
                    f"The local stack stopped answering: {error}\n{aws.log_tail()}"
                ) from error


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
    return {
        "ActionTarget": target,
        "GenesysHost": destination.url,
        "WebhookUrl": destination.webhook_url,
        "DestinationSecretArn": created["ARN"],
        "MaxActionsPerMinute": "0",  # this destination has no limit
    }


def main() -> int:
    """Keeps the stack until the process is told to end, or `parent` of the plan has ended."""
    plan = json.load(sys.stdin)
    for number in (signal.SIGTERM, signal.SIGINT):
        # Unwinds what was started, at whichever step it is.
        signal.signal(number, lambda *_: sys.exit(0))
    script = plan["destination"] and Path(plan["destination"])
    try:
        with (
            kept() as note,
            local_stack(plan["parameters"], script, lambda text: _tell(step=text)) as stack,
        ):
            note(stack.describe())
            _tell(up=stack.name_target())
            os.dup2(2, 1)  # the parent ends now: what is printed from now on goes where stderr goes
            while stack.aws.alive() and _is_alive(plan.get("parent")):
                time.sleep(_LOOK_SECONDS)
            if not stack.aws.alive():
                print(f"The AWS emulator has ended:\n{stack.aws.log_tail()}", file=sys.stderr)
    except (OnceError, BotoCoreError, ClientError) as error:
        _tell(failed=str(error))
        return 1
    return 0


def _is_alive(pid: int | None) -> bool:
    try:
        if pid is not None:
            os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _tell(**facts: Any) -> None:
    print(json.dumps(facts), flush=True)


if __name__ == "__main__":
    sys.exit(main())
