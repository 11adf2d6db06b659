"""`once dev`: a local stack, its console and a line per event in one terminal, until Ctrl-C."""

import contextlib
import secrets
import threading
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from botocore.exceptions import BotoCoreError

from once.answers import command
from once.console import sandbox
from once.console.command import PORT, NoBrowser, Port, opened, serve
from once.errors import OnceError
from once.local.aws import require_local
from once.local.deploy import STACK_NAME
from once.operate import log, running
from once.operate.running import Running, kept
from once.operate.stack import LOCAL, Stack
from once.ports import LOOPBACK, listen
from once.project import EXAMPLE, say_how_to_type_once
from once.reasons import describe
from once.records import OutcomeLog
from once.run.local import Local, local_stack
from once.run.up import SET, parameters_of
from once.screen import say

_POLL_SECONDS = 0.5
_DEMO_SECONDS = 1.0


def _read_address(url: str | None) -> str | None:
    """Refuses, before anything starts, what the template would refuse as WebhookUrl."""
    if url is None:
        return None
    with contextlib.suppress(ValueError):  # of a port that is none
        parts = urlsplit(url)
        is_here = parts.hostname in ("localhost", LOOPBACK) and parts.port
        if parts.hostname and (parts.scheme == "https" or (parts.scheme == "http" and is_here)):
            return url
    raise typer.BadParameter(
        f"{url!r} is no https address, nor one here such as http://localhost:3000/events"
    )


@command("once dev --forward http://localhost:3000/events")
def dev(
    forward: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            callback=_read_address,
            help="Send each event to your own server: once, and signed.",
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Send the example story, an event per second.")
    ] = False,
    port: Port = PORT,
    no_browser: NoBrowser = False,
    parameters: Annotated[list[str] | None, SET] = None,
) -> None:
    """Start a local stack and its console, and print the outcome of each event, until Ctrl-C."""
    require_local()
    from once.console.app import make

    found = running.find()
    if found is not None:
        console = f"Its console: {found.console}" if found.console else "See it with: once console"
        raise OnceError(
            f"A local stack is up already in this folder, by process {found.pid}. {console}\n"
            "To start another one, end it: once down"
        )
    chosen = parameters_of(parameters)
    if forward:
        chosen = {"ActionTarget": "webhook", "WebhookUrl": forward} | chosen
    listening = listen(port, "once dev")
    chosen_port, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    address = f"http://{LOOPBACK}:{chosen_port}/?token={token}"
    script = EXAMPLE.with_suffix(".destination.json") if demo else None
    stopping = threading.Event()
    with (
        kept() as note,
        local_stack(chosen, script, step=lambda what: say(f"{what} …")) as local,
    ):
        running_here = Running.here(local.stack.aws, local.destination, STACK_NAME)
        note(running_here.model_copy(update={"console": address}))
        stack = Stack.find(LOCAL, None, None)
        app = make(stack, chosen_port, token, True)
        _introduce(address, forward, local)
        threads: list[threading.Thread] = []

        def begin(server: Any) -> None:
            threads.append(threading.Thread(target=_print_outcomes, args=(local, stopping, server)))
            if demo:
                threads.append(threading.Thread(target=_play_story, args=(stack, stopping)))
            for thread in threads:
                thread.start()

        try:
            with (
                contextlib.suppress(KeyboardInterrupt),
                contextlib.nullcontext() if no_browser else opened(address),
            ):
                serve(app, listening, begin)
        finally:
            stopping.set()
            for thread in threads:
                thread.join()
        if not local.stack.aws.alive():
            raise OnceError(f"The AWS emulator has ended:\n{local.stack.aws.log_tail()}")


def _introduce(address: str, forward: str | None, local: Local) -> None:
    say(f"The console is at {address}")
    if forward:
        secret = local.destination.signing_secret
        say(f"Events go to {forward}, signed. A server verifies them with standardwebhooks:")
        say(f'  Webhook("{secret}").verify(body, headers)')
        say("A server that needs nothing but Python: once example receiver > receiver.py")
        say(f"  SIGNING_SECRET={secret} PORT={urlsplit(forward).port or 80} python3 receiver.py")
    say("Send events from another terminal, in this folder: once send FILE. Ctrl-C ends all.")
    if line := say_how_to_type_once():
        say(f"To put the command once on your PATH: {line}")


def _print_outcomes(local: Local, stopping: threading.Event, server: Any) -> None:
    """Prints a line for each record of the outcome log. Ends the console with the emulator."""
    outcomes = OutcomeLog(local.stack.client("logs"), local.stack.outputs["OutcomeLogGroupName"])
    while not stopping.wait(_POLL_SECONDS):
        try:
            records = list(outcomes.new())
        except BotoCoreError:
            server.should_exit = not local.stack.aws.alive()
            continue
        for record in records:
            what = f"{record.family} {record.pk}" if record.pk else "no event"
            say(f"{record.outcome:<9}  {what}  {describe(record.reason)}")


def _play_story(stack: Stack, stopping: threading.Event) -> None:
    """Sends the example story as if it happened now."""
    lines = EXAMPLE.read_text("utf-8").splitlines()
    now_ms = log.now_ms()
    newest_ms = max(sandbox.normalised(line, now_ms).get("occurredAtMs", 0) for line in lines)
    for line in lines:
        if stopping.wait(_DEMO_SECONDS):
            return
        with contextlib.suppress(BotoCoreError):  # the emulator has ended, and so will this
            # All by as much, so that order and distances stay as they are.
            sandbox.send(stack, sandbox.shifted(line, now_ms - newest_ms))
