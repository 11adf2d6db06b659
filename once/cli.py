"""Lists the commands of `once` by their purpose. Each is imported only if it is typed, so that none
waits for the libraries of another."""

import errno
import importlib
import signal
import sys
from pathlib import Path
from typing import Any

import click

from once.errors import OnceError

_UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)
TRY = {
    "run": "Send a file of events through a local stack",
    "dev": "Start a local stack, its console and your server",
    "up": "Start a local stack that stays up",
    "down": "End the local stack",
    "send": "Put the events of a file into the queue",
    "destination": "Show what the destination received; make it fail",
    "audit": "Find the copies in a capture, and who sends them",
    "routes": "Check which events are acted on, and how",
    "example": "Print example events, or a server for them",
    "template": "Write the files that `sam deploy` needs",
}
OPERATE = {
    "status": "Show what waits, what is stuck, the remedy",
    "explain": "Show what was decided, and why",
    "parked": "List, replay or drop parked events",
    "forget": "Let an event be acted on again",
    "pause": "Pause requests to the destination",
    "resume": "Send requests again, start the pipe",
    "check": "Check the path of events, with canaries",
    "console": "Show a running stack in the browser",
}
_OWN_ROOM = ("audit", "routes", "console")


def load(name: str) -> click.Command:
    """Imports a command and returns it; its module names it `command`."""
    module = f"once.{name}.command" if name in _OWN_ROOM else f"once.commands.{name}"
    command: click.Command = importlib.import_module(module).command
    command.name = name
    return command


class _Once(click.Group):
    """The command line: it explains in a sentence each error that a person can repair."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click passes it
        return [*TRY, *OPERATE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return load(cmd_name) if cmd_name in self.list_commands(ctx) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for title, commands in (("Try it on this machine", TRY), ("Operate a stack", OPERATE)):
            with formatter.section(title):
                formatter.write_dl([*commands.items()])

    def invoke(self, ctx: click.Context) -> Any:
        # TERM, too, unwinds what was started.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        try:
            return super().invoke(ctx)
        except OnceError as error:
            _fail(str(error))
        except OSError as error:
            if error.errno not in _UNWRITABLE:
                raise
            where = Path(error.filename or ".").absolute()
            _fail(f"Cannot write {where}: {error.strerror}.")
        except KeyboardInterrupt:  # after all that the command had started has ended
            from once.cli_options import INTERRUPTED

            click.echo("Interrupted.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None


def _fail(why: str) -> None:
    from once.screen import put, screen

    for line in f"once: {why}".split("\n"):
        put(screen(stderr=True), line, style="red", markup=False)
    raise click.exceptions.Exit(1) from None


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
