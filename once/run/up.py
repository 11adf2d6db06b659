"""An embedded stack that stays up: `once up`, `once down`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from once.errors import OnceError
from once.operate import running
from once.screen import say, screen

_END_SECONDS = 60
_LOG = running.FOLDER / "up.log"


def register(app: typer.Typer) -> None:
    app.command("up", epilog="Example: once up --set MaxTries=3")(up)
    app.command("down", epilog="Example: once down")(down)


def up(
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PARAMETER=VALUE", help="Set a parameter of template.yaml."),
    ] = None,
    destination: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="How the destination behaves (see `once genesys`)."
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
    """Start an embedded stack that stays up, until `once down`."""
    _start(parameters_of(parameters), destination, _template_in(project) if project else None)


def _template_in(project: Path) -> Path:
    """Of a clone, of what `once template` wrote, or of an unpacked wheel."""
    folders = (project, project / "once" / "_project")
    templates = [found for folder in folders if (found := folder / "template.yaml").is_file()]
    if not templates:
        raise OnceError(
            f"{project} has no template.yaml. Name a clone of genesys-once (git worktree makes one "
            "of another version), an unpacked wheel, or what `once template` has written."
        )
    return templates[0].absolute()


def down() -> None:
    """End the embedded stack that is up in this folder, and all that is in it."""
    found = running.find()
    if found is None:
        say("No embedded stack is up in this folder.")
        return
    os.kill(found.pid, signal.SIGTERM)
    until = time.monotonic() + _END_SECONDS
    while running.find() is not None:
        if time.monotonic() > until:
            raise OnceError(f"The process {found.pid} does not end. See {_LOG}.")
        time.sleep(0.05)
    say(f"The embedded stack at {found.endpoint} is down.")


def parameters_of(given: list[str] | None) -> dict[str, str]:
    """What --set says, of any command that deploys the template."""
    chosen = {}
    for one in given or []:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{one!r} is not Parameter=Value")
        chosen[name] = value
    return chosen


def _start(parameters: dict[str, str], destination: Path | None, template: Path | None) -> None:
    already = running.find()
    if already is not None:
        raise OnceError(
            f"An embedded stack is up already, at {already.endpoint}. End it with: once down"
        )
    running.FOLDER.mkdir(exist_ok=True)
    plan = {
        "parameters": parameters,
        "destination": str(destination.absolute()) if destination else None,
        "template": str(template) if template else None,
    }
    with _LOG.open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - the command is built here from our own parts
            [sys.executable, "-P", "-m", "once.run.up_process", json.dumps(plan)],
            stdin=subprocess.DEVNULL,
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
    found = running.find()
    if found is None:
        raise OnceError(f"The embedded stack ended as soon as it was up. See {_LOG}.")
    say(f"Up at {found.endpoint}; its destination is {destination_in_use}.")
    say("Every command works on it now, in this folder. See it at work: once console")
    say("End it with: once down")


def _follow(process: subprocess.Popen[bytes]) -> str:
    """Until it is up; whom it calls then."""
    with screen().status("") as status:
        for line in process.stdout or ():
            said = json.loads(line)
            if "failed" in said:
                raise OnceError(said["failed"])
            if "up" in said:
                return str(said["up"])
            status.update(f"{said['step']} …")
    raise OnceError(f"The embedded stack did not come up. See {_LOG}.")
