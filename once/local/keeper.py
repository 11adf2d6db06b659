"""Keeps a local stack up for `once up`: a process of its own, `python -m once.local.keeper`.

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
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from once.errors import OnceError
from once.local.stack import local_stack
from once.stack.running import kept

_LOOK_SECONDS = 1


def main() -> int:
    """Keeps the stack until the process is told to end, or `parent` of the plan has ended."""
    plan = json.load(sys.stdin)
    for number in (signal.SIGTERM, signal.SIGINT):
        # Unwinds what was started, at whichever step it is.
        signal.signal(number, lambda *_: sys.exit(0))
    destination = plan["destination"] and Path(plan["destination"])
    try:
        with (
            kept() as note,
            local_stack(
                plan["parameters"], destination, step=lambda text: _tell(step=text)
            ) as stack,
        ):
            note(stack.describe())
            _tell(up=_name_destination(stack.parameters))
            os.dup2(2, 1)  # the parent ends now: what is printed from now on goes where stderr goes
            while stack.aws.alive() and _is_alive(plan.get("parent")):
                time.sleep(_LOOK_SECONDS)
            if not stack.aws.alive():
                print(f"The AWS emulator has ended:\n{stack.aws.log_tail()}", file=sys.stderr)
    except (OnceError, BotoCoreError, ClientError) as error:
        _tell(failed=str(error))
        return 1
    return 0


def _name_destination(parameters: Mapping[str, str]) -> str:
    match parameters["ActionTarget"]:
        case "none":
            return "none: events are claimed and recorded, nothing is sent"
        case "webhook":
            return "/".join(parameters["WebhookUrl"].split("/")[:3])  # its path may be secret
        case "eventbridge" | "lambda":
            return parameters["TargetArn"]
    return parameters["GenesysHost"]


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
