"""`once dev`: a local stack, its console and a line per event in one terminal, until Ctrl-C."""

import contextlib
import re
import secrets
import shlex
import threading
from typing import Any
from urllib.parse import urlsplit

import click
from botocore.exceptions import BotoCoreError, ClientError

from once.cli_options import Output, standalone
from once.console.command import NO_BROWSER, PORT, opened, serve
from once.errors import OnceError
from once.lines import read_lines
from once.local.aws import require_local
from once.local.stack import SET, LocalStack, local_stack
from once.model.records import Record
from once.ports import LOOPBACK, listen
from once.project import EXAMPLE, say_how_to_type_once
from once.screen import say
from once.stack import running
from once.stack.delivery import send_to_queue
from once.stack.facade import Stack
from once.stack.log import OutcomeLog

_POLL_SECONDS = 0.5
_DEMO_SECONDS = 1.0
_ADDRESS = re.compile(r"https://\S+|http://(127\.0\.0\.1|localhost):[0-9]{1,5}(/\S*)?")


def _read_address(_: click.Context, __: click.Parameter, url: str | None) -> str | None:
    """Refuses, before anything starts, what the template would refuse as WebhookUrl."""
    if url is None or _ADDRESS.fullmatch(url):
        return url
    raise click.BadParameter(
        f"{url!r} is no https address, nor one here such as http://localhost:3000/events"
    )


@standalone("once dev --forward http://localhost:3000/events")
@click.option(
    "--forward",
    metavar="URL",
    callback=_read_address,
    help="Send each event to your own server: once, and signed.",
)
@click.option("--demo", is_flag=True, help="Send the example story, an event per second.")
@PORT
@NO_BROWSER
@SET
def command(
    _: Output,
    forward: str | None,
    demo: bool,
    port: int,
    no_browser: bool,
    parameters: dict[str, str],
) -> None:
    """Start a local stack and its console, and print the outcome of each event, until Ctrl-C."""
    require_local()
    from once.console.app import make

    if (up := running.find()) is not None:
        console = f"Its console: {up.console}" if up.console else "See it with: once console"
        raise OnceError(
            f"A local stack is up already in this folder, by process {up.pid}. {console}\n"
            "To start another one, end it: once down"
        )
    if forward:
        parameters = {"ActionTarget": "webhook", "WebhookUrl": forward} | parameters
    purpose = f" --forward {shlex.quote(forward)}" if forward else ""
    listening = listen(port, "once dev" + purpose + (" --demo" if demo else ""))
    chosen_port, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    address = f"http://{LOOPBACK}:{chosen_port}/?token={token}"
    script = EXAMPLE.with_suffix(".destination.json") if demo else None
    stopping = threading.Event()
    with (
        running.kept() as note,
        local_stack(parameters, script, step=lambda text: say(f"{text} …")) as local,
    ):
        up = local.describe().model_copy(update={"console": address})
        note(up)
        stack = Stack.at(up)
        app = make(stack, chosen_port, token)
        _introduce(address, forward, local)
        threads: list[threading.Thread] = []

        def begin(server: Any) -> None:
            outcomes = (local, forward, stopping, server)
            threads.append(threading.Thread(target=_print_outcomes, args=outcomes))
            if demo:
                threads.append(threading.Thread(target=_send_story, args=(stack, stopping)))
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
        if not local.aws.alive():
            raise OnceError(f"The AWS emulator has ended:\n{local.aws.log_tail()}")


def _introduce(address: str, forward: str | None, local: LocalStack) -> None:
    say(f"The console is at {address}")
    if forward:
        secret = local.destination.signing_secret
        say(f"Events go to {forward}, signed. A server verifies them with standardwebhooks:")
        say(f'  Webhook("{secret}").verify(body, headers)')
        say("A server that needs nothing but Python: once example receiver > receiver.py")
        say(f"  SIGNING_SECRET={secret} PORT={urlsplit(forward).port or 80} python3 receiver.py")
    say("Send events from another terminal, in this folder: once send FILE. Ctrl-C ends all.")
    if line := say_how_to_type_once():
        say(f"To have the command `once` on your PATH: {line}")


def _print_outcomes(
    local: LocalStack, forward: str | None, stopping: threading.Event, server: Any
) -> None:
    """Prints a line for each record of the outcome log. Ends the console with the emulator."""
    outcomes = OutcomeLog(local.client, local.outputs)
    while not stopping.wait(_POLL_SECONDS):
        try:
            records = outcomes.read_new()
        except (BotoCoreError, ClientError):
            server.should_exit = not local.aws.alive()
            continue
        for record in records:
            say(_describe(record, forward))


def _describe(record: Record, forward: str | None) -> str:
    """Shows an event, the response to its request if there was one, and what follows."""
    event = f"{record.family} {record.pk}" if record.key else "no event"
    line = f"{record.outcome:<9}  {event}  {record.why}".rstrip()
    if record.requests:
        response = f"HTTP {record.status}" if record.status else "no response"
        if record.duration_ms is not None:
            response += f" in {record.duration_ms} ms"
        line += f"  → {forward or 'destination'}: {response}"
    if record.retry_in_seconds is not None:
        line += f"; again in {record.retry_in_seconds} s"
    return line


def _send_story(stack: Stack, stopping: threading.Event) -> None:
    for line in read_lines(EXAMPLE):
        if stopping.wait(_DEMO_SECONDS):
            return
        with contextlib.suppress(BotoCoreError):  # the emulator has ended, and so will this
            list(send_to_queue(stack, [line]))
