"""The process behind `once up`: keeps a local stack and its destination until it is told.

Its plan comes as JSON on stdin. It tells its parent on stdout, in lines of JSON, which step it is
at and how that ended.
"""

import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from botocore.exceptions import BotoCoreError, ClientError

from once.errors import OnceError
from once.local.deploy import STACK_NAME
from once.operate.running import Running, kept
from once.run.local import local_stack

_LOOK_SECONDS = 1


def main() -> int:
    plan = json.load(sys.stdin)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _end)
    try:
        template = Path(plan["template"]) if plan["template"] else None
        _keep(plan["parameters"], plan["destination"], template)
    except (OnceError, BotoCoreError, ClientError) as error:
        _tell(failed=str(error))
        return 1
    return 0


def _keep(parameters: dict[str, str], script: str | None, template: Path | None) -> None:
    destination = Path(script) if script else None
    with (
        kept() as note,
        local_stack(
            parameters, destination, template=template, step=lambda what: _tell(step=what)
        ) as local,
    ):
        note(Running.here(local.stack.aws, local.destination, STACK_NAME))
        _tell(up=_whom_it_calls(local.parameters))
        _let_the_parent_go()
        while local.stack.aws.alive():
            time.sleep(_LOOK_SECONDS)


def _end(*_: object) -> NoReturn:
    """Unwinds what was started, at whichever step it is."""
    raise SystemExit(0)


def _whom_it_calls(parameters: Mapping[str, str]) -> str:
    if function := parameters.get("ActionFunctionArn"):
        return function
    match parameters["ActionTarget"]:
        case "none":
            return "nobody (ActionTarget is none)"
        case "webhook":
            return "/".join(parameters["WebhookUrl"].split("/")[:3])  # its path may be secret
        case "eventbridge":
            return parameters["TargetBusArn"]
    return parameters["GenesysHost"]


def _tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def _let_the_parent_go() -> None:
    """Sends what is said from now on where stderr goes: the parent is about to end."""
    os.dup2(2, 1)


if __name__ == "__main__":
    sys.exit(main())
