"""Lists the commands of `once` by their purpose. Each is imported only if it is typed, so that none
waits for the libraries of another."""

import errno
import importlib
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from once.errors import OnceError

_UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS)
TRY, OPERATE = "Try it on this machine", "Operate a stack"


@dataclass(frozen=True)
class Entry:
    """A command before it is imported: the function of that name in its module, or what the
    module's `register` adds, if it is a group of commands."""

    panel: str
    module: str
    summary: str


ENTRIES = {
    "run": Entry(TRY, "once.run.command", "Send a file of events through a local stack"),
    "dev": Entry(
        TRY, "once.run.dev", "Start a local stack, its console and your own server behind it"
    ),
    "up": Entry(TRY, "once.run.up", "Start a local stack that stays up"),
    "down": Entry(TRY, "once.run.up", "End the local stack"),
    "send": Entry(TRY, "once.operate.send", "Put the events of a file into the queue"),
    "destination": Entry(TRY, "once.operate.destination", "Show what it got; make it fail"),
    "example": Entry(TRY, "once.project", "Print example events, or a server that receives some"),
    "audit": Entry(
        TRY, "once.audit.command", "Find the copies in a capture, and who publishes them"
    ),
    "routes": Entry(TRY, "once.routes.command", "Check which events are acted on, and how"),
    "status": Entry(
        OPERATE, "once.operate.status", "Show what waits, what is stuck, how to fix it"
    ),
    "explain": Entry(OPERATE, "once.operate.explain", "Show what was decided, and why"),
    "parked": Entry(OPERATE, "once.operate.dead_ends", "List, replay or drop parked events"),
    "dead-letters": Entry(
        OPERATE, "once.operate.dead_ends", "List, replay or drop dead-letter events"
    ),
    "forget": Entry(OPERATE, "once.operate.forget", "Let an event be acted on again"),
    "console": Entry(OPERATE, "once.console.command", "Show a running stack in the browser"),
    "check": Entry(OPERATE, "once.operate.check", "Check the path of events, with canaries"),
    "pause": Entry(OPERATE, "once.operate.pause", "Pause requests to the destination"),
    "resume": Entry(OPERATE, "once.operate.pause", "Send requests again, and start the pipe"),
    "template": Entry(OPERATE, "once.project", "Write the files that `sam deploy` needs"),
}


def load(name: str) -> Any:
    """Imports a command and returns it."""
    module = importlib.import_module(ENTRIES[name].module)
    app = typer.Typer()
    function = getattr(module, name, None)
    if function is None:
        module.register(app)
    else:
        vars(function)["add"](app, name)
    return typer.main.get_group(app).commands[name]


def commands() -> Iterator[tuple[str, Any]]:
    """Yields every command, by its words."""
    for name in ENTRIES:
        command = load(name)
        inner = getattr(command, "commands", None)
        if inner is None:
            yield name, command
        for word, one in (inner or {}).items():
            yield f"{name} {word}", one


class _Once(TyperGroup):
    """The command line: each command explains in a sentence an error that a person can repair."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, entry in ENTRIES.items():
            self.add_command(TyperCommand(name, help=entry.summary, rich_help_panel=entry.panel))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        return name, load(str(name)), rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except OnceError as error:
            raise _failed(error) from None
        except OSError as error:
            if error.errno not in _UNWRITABLE:
                raise
            where = Path(error.filename or ".").absolute()
            raise _failed(OnceError(f"Cannot write {where}: {error.strerror}.")) from None
        except KeyboardInterrupt:  # when all that it had started has ended
            from once.screen import put, screen

            put(screen(stderr=True), "Interrupted.")
            raise typer.Exit(130) from None


def _failed(error: OnceError) -> typer.Exit:
    """Prints why a command failed, and returns what ends it."""
    from once.screen import put, screen

    errors = screen(stderr=True)
    for line in f"once: {error}".split("\n"):
        put(errors, line, style="red", markup=False)
    return typer.Exit(error.exit_code)


app = typer.Typer(
    cls=_Once,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Act once on each Genesys Cloud event. Try it on this machine, operate it on AWS.",
    epilog="Exit codes: 0 ok, 1 failed, 2 usage error, 3 done, but something needs attention, "
    "4 not found, 130 interrupted.",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("genesys-once"))
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[  # noqa: ARG001 - its callback answers
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    # So that TERM, too, unwinds what was started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


if __name__ == "__main__":
    sys.exit(app())
