"""The process behind `once up`: keeps an embedded stack and its destination until it is told.

Its plan comes as JSON on the command line. It tells its parent on stdout, in lines of JSON, which
step it is at and how that ended.
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from once.embedded.aws import EmbeddedAws
from once.embedded.deploy import STACK_NAME
from once.embedded.stack import EmbeddedStack
from once.errors import OnceError
from once.genesys.server import GenesysServer
from once.operate.running import Running, kept
from once.run.command import destination_parameters

_LOOK_SECONDS = 1


def main() -> int:
    plan = json.loads(sys.argv[1])
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    try:
        template = Path(plan["template"]) if plan["template"] else None
        _keep(plan["parameters"], plan["destination"], template, stopping)
    except (OnceError, BotoCoreError, ClientError) as error:
        _tell(failed=str(error))
        return 1
    return 0


def _keep(
    parameters: dict[str, str],
    script: str | None,
    template: Path | None,
    stopping: threading.Event,
) -> None:
    def step(what: str) -> None:
        if stopping.is_set():
            raise OnceError("It was told to end before it was up.")
        _tell(step=what)

    chosen: dict[str, str] = {}

    def all_parameters(aws: EmbeddedAws) -> dict[str, str]:
        chosen.update(destination_parameters(aws, destination))
        chosen.update(parameters)
        return chosen

    with (
        kept() as note,
        GenesysServer(script=Path(script) if script else None) as destination,
        EmbeddedStack.start(all_parameters, template=template, step=step) as stack,
    ):
        note(
            Running(
                pid=os.getpid(),
                endpoint=stack.aws.endpoint,
                stack=STACK_NAME,
                genesys=destination.url,
            )
        )
        _tell(up=_whom_it_calls(chosen))
        _let_the_parent_go()
        while stack.aws.alive() and not stopping.wait(_LOOK_SECONDS):
            continue


def _whom_it_calls(parameters: dict[str, str]) -> str:
    if function := parameters.get("ActionFunctionArn"):
        return function
    match parameters["ActionTarget"]:
        case "none":
            return "nobody (ActionTarget is none)"
        case "webhook":
            return parameters["WebhookUrl"]
    return parameters["GenesysHost"]


def _tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def _let_the_parent_go() -> None:
    """Its end of stdout is about to close; what is said from now on goes where stderr goes."""
    os.dup2(2, 1)


if __name__ == "__main__":
    sys.exit(main())
