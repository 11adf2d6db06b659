"""An embedded stack that stays up: `once up`, `once send`, `once down`."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from once.errors import OnceError
from once.operate import phrases as words
from once.operate import running
from once.operate.command import Operation, Yes, command
from once.operate.model import Model
from once.run.lines import Line, read_lines
from once.run.sending import Sender

_END_SECONDS = 60
_LOG = running.FOLDER / "up.log"


class Sent(Model):
    """How much went into the queue."""

    sent: int = 0
    not_json: int

    def sent_to_queue(self, line: Line, message_id: str) -> None:  # noqa: ARG002
        self.sent += 1

    def sent_to_bus(self, line: Line, envelope_id: str) -> None:  # noqa: ARG002
        raise AssertionError("nothing is sent by the bus")


def register(app: typer.Typer) -> None:
    app.command("up", epilog="Example: once up --set MaxReceiveCount=5")(up)
    app.command("down", epilog="Example: once down")(down)
    command(app, "send", "once send once/examples/story.jsonl")(send)


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
) -> None:
    """Start an embedded stack that stays up, until `once down`."""
    _start(parameters_of(parameters), destination)


def down() -> None:
    """End the embedded stack that is up in this folder, and all that is in it."""
    found = running.find()
    if found is None:
        typer.echo("No embedded stack is up in this folder.")
        return
    os.kill(found.pid, signal.SIGTERM)
    until = time.monotonic() + _END_SECONDS
    while running.find() is not None:
        if time.monotonic() > until:
            raise OnceError(f"The process {found.pid} does not end. See {_LOG}.")
        time.sleep(0.05)
    typer.echo(f"The embedded stack at {found.endpoint} is down.")


def send(
    at: Operation,
    events: Annotated[
        Path, typer.Argument(metavar="EVENTS.jsonl", help="One event per line, in any known shape.")
    ],
    yes: Yes = False,
) -> None:
    """Put the events of a file into the queue, as the rule would deliver them."""
    lines = read_lines(events)
    if not at.stack.embedded:
        at.confirm(
            f"Send {words.events(len(lines))} there? They act as if they came from Genesys.", yes
        )
    sent = Sent(not_json=sum(not line.is_json() for line in lines))
    Sender(at.stack.client("sqs"), None, at.stack.outputs, sent).to_queue(lines)
    told = [f"{words.events(sent.sent)} sent. See what becomes of them with: once status"]
    if sent.not_json:
        told.append(f"Not JSON, so they will be parked: {sent.not_json}. Is it the right file?")
    at.answer(sent, told)


def parameters_of(given: list[str] | None) -> dict[str, str]:
    """What --set says, of any command that deploys the template."""
    chosen = {}
    for one in given or []:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"{one!r} is not Parameter=Value")
        chosen[name] = value
    return chosen


def _start(parameters: dict[str, str], destination: Path | None) -> None:
    already = running.find()
    if already is not None:
        raise OnceError(
            f"An embedded stack is up already, at {already.endpoint}. End it with: once down"
        )
    running.FOLDER.mkdir(exist_ok=True)
    plan = {
        "parameters": parameters,
        "destination": str(destination.absolute()) if destination else None,
    }
    with _LOG.open("wb") as log:
        process = subprocess.Popen(  # noqa: S603 - the command is built here from our own parts
            [sys.executable, "-P", "-m", "once.operate.up_process", json.dumps(plan)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    try:
        _follow(process)
    except BaseException:
        process.terminate()
        process.wait(_END_SECONDS)
        raise
    found = running.find()
    if found is None:
        raise OnceError(f"The embedded stack ended as soon as it was up. See {_LOG}.")
    typer.echo(f"Up at {found.endpoint}; its destination is {found.genesys}.")
    typer.echo("Every command works on it now, in this folder. End it with: once down")


def _follow(process: subprocess.Popen[bytes]) -> None:
    with Console().status("") as status:
        for line in process.stdout or ():
            told = json.loads(line)
            if "failed" in told:
                raise OnceError(told["failed"])
            if "up" in told:
                return
            status.update(f"{told['step']} …")
    raise OnceError(f"The embedded stack did not come up. See {_LOG}.")
