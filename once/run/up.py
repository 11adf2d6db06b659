"""A local stack that stays up: `once up`, `once down`.

A process of its own keeps the stack and its destination: `python -m once.run.up`. Its plan comes as
JSON on stdin. It tells its parent on stdout, in lines of JSON, which step it is at and how that
ended.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any

import typer
from botocore.exceptions import BotoCoreError, ClientError

from once.answers import command
from once.errors import OnceError
from once.local.deploy import STACK_NAME
from once.operate import running
from once.operate.running import Running, kept
from once.run.local import local_stack
from once.screen import say, screen

_LOOK_SECONDS = 1
_END_SECONDS = 60
_LOG = running.FOLDER / "up.log"
_FILE = "file://"

SET = typer.Option(
    "--set",
    metavar="PARAMETER=VALUE",
    help="Set a parameter of template.yaml. file://PATH reads a secret value from a file, since "
    "other users of this machine can read arguments.",
)


@command("once up --set MaxTries=3")
def up(
    parameters: Annotated[list[str] | None, SET] = None,
    destination: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="How the destination behaves (docs/data-action.md)."
        ),
    ] = None,
    project: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FOLDER",
            help="Deploy the template of this folder, e.g. of another version.",
        ),
    ] = None,
) -> None:
    """Start a local stack that stays up, until `once down`."""
    template = None
    if project is not None:
        folders = (project, project / "once" / "_project")  # the latter of an unpacked wheel
        templates = [found for folder in folders if (found := folder / "template.yaml").is_file()]
        if not templates:
            raise OnceError(
                f"{project} has no template.yaml. Name a clone of genesys-once (git worktree makes "
                "one of another version), an unpacked wheel, or what `once template` has written."
            )
        template = templates[0].absolute()
    _start(parameters_of(parameters), destination, template)


@command("once down")
def down() -> None:
    """End the local stack that is up in this folder, and all that is in it."""
    found = running.find()
    if found is None:
        say("No local stack is up in this folder.")
        return
    os.kill(found.pid, signal.SIGTERM)
    until = time.monotonic() + _END_SECONDS
    while running.find() is not None:
        if time.monotonic() > until:
            raise OnceError(f"The process {found.pid} does not end. See {_LOG}.")
        time.sleep(0.05)
    say(f"The local stack at {found.endpoint} is down.")


def parameters_of(given: list[str] | None) -> dict[str, str]:
    """Reads what --set says, for each command that deploys the template."""
    chosen = {}
    for one in given or []:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{one!r} is not Parameter=Value")
        if value.startswith(_FILE):
            path = value.removeprefix(_FILE)
            try:
                value = Path(path).read_text().rstrip("\n")
            except OSError as error:
                raise OnceError(f"Cannot read {path}: {error.strerror}.") from error
        chosen[name] = value
    return chosen


def _start(parameters: dict[str, str], destination: Path | None, template: Path | None) -> None:
    already = running.find()
    if already is not None:
        raise OnceError(f"A local stack is up already, at {already.endpoint}. To end it: once down")
    running.private_folder()
    plan = {
        "parameters": parameters,
        "destination": str(destination.absolute()) if destination else None,
        "template": str(template) if template else None,
    }
    # The plan is no argument: other users can read those, and a parameter may be secret.
    with running.open_private(_LOG, "wb") as log, TemporaryFile("w+") as stdin:
        json.dump(plan, stdin)
        stdin.seek(0)
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "once.run.up"],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    try:
        destination_in_use = _follow(process)
    except BaseException:
        process.terminate()
        process.wait(_END_SECONDS)
        raise
    finally:
        if process.stdout is not None:
            process.stdout.close()
    found = running.find()
    if found is None:
        raise OnceError(f"The local stack ended as soon as it was up. See {_LOG}.")
    say(f"Up at {found.endpoint}; its destination is {destination_in_use}.")
    say("In this folder every command uses it now. To watch it: once console")
    say("To end it: once down")


def _follow(process: subprocess.Popen[bytes]) -> str:
    """Waits until the stack is up; returns its destination."""
    with screen().status("") as status:
        for line in process.stdout or ():
            said = json.loads(line)
            if "failed" in said:
                raise OnceError(said["failed"])
            if "up" in said:
                return str(said["up"])
            status.update(f"{said['step']} …")
    raise OnceError(f"The local stack did not come up. See {_LOG}.")


def main() -> int:
    """Keeps the stack until it is told to end."""
    plan = json.load(sys.stdin)
    for number in (signal.SIGTERM, signal.SIGINT):
        # Unwinds what was started, at whichever step it is.
        signal.signal(number, lambda *_: sys.exit(0))
    destination, template = (
        plan[name] and Path(plan[name]) for name in ("destination", "template")
    )
    try:
        with (
            kept() as note,
            local_stack(
                plan["parameters"],
                destination,
                template=template,
                step=lambda what: _tell(step=what),
            ) as local,
        ):
            note(Running.here(local.stack.aws, local.destination, STACK_NAME))
            _tell(up=_whom_it_calls(local.parameters))
            os.dup2(2, 1)  # the parent ends now: what is said from now on goes where stderr goes
            while local.stack.aws.alive():
                time.sleep(_LOOK_SECONDS)
    except (OnceError, BotoCoreError, ClientError) as error:
        _tell(failed=str(error))
        return 1
    return 0


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


if __name__ == "__main__":
    sys.exit(main())
