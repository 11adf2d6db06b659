"""`once up`: starts a local stack that stays up. Its process is once/local/stack.py."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile

import click

from once.cli_options import Output, standalone
from once.errors import OnceError
from once.local.aws import address, require_local
from once.local.stack import SCRIPT, SET
from once.screen import say, screen
from once.stack import running
from once.stack.running import Running

_END_SECONDS = 60


@standalone("once up --set MaxTries=3")
@SET
@SCRIPT
@click.option(
    "--env", "prints_env", is_flag=True, help="Print only the variables for AWS's own tools."
)
def command(_: Output, parameters: dict[str, str], script: Path | None, prints_env: bool) -> None:
    """Start a local stack that stays up, until `once down`.

    AWS's own tools (of its CLI version 2) use it after: eval "$(once up --env)"
    """
    stack = running.find()
    if prints_env:
        if stack is None:
            raise OnceError("No local stack is up in this folder. Start one with: once up")
    elif stack is not None:
        raise OnceError(f"A local stack is up already, at {stack.endpoint}. To end it: once down")
    else:
        require_local()
        destination = _start(parameters, script)
        stack = running.find()
        if stack is None:
            raise OnceError(f"The local stack ended as soon as it was up. See {running.LOG}.")
        say(f"Up at {stack.endpoint}; its destination is {destination}.")
        say("In this folder every command uses it now. To watch it: once console")
        say("To end it: once down")
        say('For AWS\'s own tools, run these lines, or: eval "$(once up --env)"')
    for line in _exports(stack):
        say(line)


def _exports(stack: Running) -> list[str]:
    variables = {
        **address(stack.endpoint, stack.key),
        "AWS_REGION": stack.region,
        "AWS_DEFAULT_REGION": stack.region,
    }
    exports = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    return [*exports, "unset AWS_PROFILE"]


def _start(parameters: dict[str, str], script: Path | None) -> str:
    """Waits until the stack is up; returns its destination."""
    running.private_folder()
    plan = {"parameters": parameters, "destination": str(script.absolute()) if script else None}
    # The plan is no argument: other users can read those, and a parameter may be secret.
    with running.open_private(running.LOG, "wb") as log, TemporaryFile("w+") as stdin:
        json.dump(plan, stdin)
        stdin.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "once.local.stack"],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    try:
        with screen().status("") as status:
            for line in process.stdout or ():
                message = json.loads(line)
                if "failed" in message:
                    raise OnceError(message["failed"])
                if "up" in message:
                    return str(message["up"])
                status.update(f"{message['step']} …")
        raise OnceError(f"The local stack did not come up. See {running.LOG}.")
    except BaseException:
        process.terminate()
        process.wait(_END_SECONDS)
        raise
    finally:
        if process.stdout is not None:
            process.stdout.close()
