"""Lists the commands of `once` by their purpose. Each is imported only if it is typed, so that none
waits for the libraries of another."""

import errno
import importlib
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from once.errors import OnceError

_UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
TRY, OPERATE = "Try it on this machine", "Operate a stack"


@dataclass(frozen=True)
class Entry:
    """A command before it is imported: its module names it `command`."""

    section: str
    module: str
    summary: str


ENTRIES = {
    "run": Entry(TRY, "once.commands.run", "Send a file of events through a local stack"),
    "dev": Entry(TRY, "once.commands.dev", "Start a local stack, its console and your server"),
    "up": Entry(TRY, "once.commands.up", "Start a local stack that stays up"),
    "down": Entry(TRY, "once.commands.down", "End the local stack"),
    "send": Entry(TRY, "once.commands.send", "Put the events of a file into the queue"),
    "destination": Entry(
        TRY, "once.commands.destination", "Show what the destination received; make it fail"
    ),
    "audit": Entry(TRY, "once.audit.command", "Find the copies in a capture, and who sends them"),
    "routes": Entry(TRY, "once.routes.command", "Check which events are acted on, and how"),
    "example": Entry(TRY, "once.commands.example", "Print example events, or a server for them"),
    "template": Entry(TRY, "once.commands.template", "Write the files that `sam deploy` needs"),
    "status": Entry(OPERATE, "once.commands.status", "Show what waits, what is stuck, the remedy"),
    "explain": Entry(OPERATE, "once.commands.explain", "Show what was decided, and why"),
    "parked": Entry(OPERATE, "once.commands.parked", "List, replay or drop parked events"),
    "forget": Entry(OPERATE, "once.commands.forget", "Let an event be acted on again"),
    "pause": Entry(OPERATE, "once.commands.pause", "Pause requests to the destination"),
    "resume": Entry(OPERATE, "once.commands.resume", "Send requests again, start the pipe"),
    "check": Entry(OPERATE, "once.commands.check", "Check the path of events, with canaries"),
    "console": Entry(OPERATE, "once.console.command", "Show a running stack in the browser"),
}


def load(name: str) -> click.Command:
    """Imports a command and returns it."""
    command: click.Command = importlib.import_module(ENTRIES[name].module).command
    command.name = name
    return command


def commands() -> Iterator[tuple[str, click.Command]]:
    """Yields every command by its words; of a group, each command in it."""
    for name in ENTRIES:
        command = load(name)
        if isinstance(command, click.Group):
            yield from ((f"{name} {word}", inner) for word, inner in command.commands.items())
        else:
            yield name, command


class _Once(click.Group):
    """The command line: it explains in a sentence each error that a person can repair."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click passes it
        return [*ENTRIES]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        return load(cmd_name) if cmd_name in ENTRIES else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for section in (TRY, OPERATE):
            with formatter.section(section):
                formatter.write_dl(
                    [(name, e.summary) for name, e in ENTRIES.items() if e.section == section]
                )

    def invoke(self, ctx: click.Context) -> Any:
        # TERM, too, unwinds what was started.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        try:
            return super().invoke(ctx)
        except OnceError as error:
            _end(error)
        except OSError as error:
            if error.errno not in _UNWRITABLE:
                raise
            where = Path(error.filename or ".").absolute()
            _end(OnceError(f"Cannot write {where}: {error.strerror}."))
        except KeyboardInterrupt:  # after all that the command had started has ended
            from once.cli_options import INTERRUPTED

            click.echo("Interrupted.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None


def _end(error: OnceError) -> None:
    """Prints why a command failed, and ends it."""
    from once.screen import put, screen

    for line in f"once: {error}".split("\n"):
        put(screen(stderr=True), line, style="red", markup=False)
    raise click.exceptions.Exit(error.exit_code) from None


@click.group(
    cls=_Once,
    epilog="Exit codes: 0 ok, 1 failed, 2 usage error, 3 done, but something needs attention, "
    "130 interrupted.",
)
@click.version_option(package_name="genesys-once", message="%(version)s")
def app() -> None:
    """Act once on each Genesys Cloud event. Try it on this machine, operate it on AWS."""


if __name__ == "__main__":
    sys.exit(app())
