"""The `once` command line: what there is, by what it is for. Each command is imported when it is
typed, so that none waits for the libraries of another."""

import importlib
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from once.errors import OnceError

TRY, OPERATE, PLAN = "Try it on this machine", "Operate a stack", "Plan"


@dataclass(frozen=True)
class Entry:
    """A command before it is imported: its module's `register` adds it to an app.

    With an example it is the function of that name, and needs no `register`.
    """

    panel: str
    module: str
    summary: str
    example: str | None = None


ENTRIES = {
    "run": Entry(
        TRY,
        "once.run.app",
        "Send a file of events through an embedded AWS",
        "once run --report report.json",
    ),
    "up": Entry(TRY, "once.run.up", "Start an embedded stack that stays up"),
    "down": Entry(TRY, "once.run.up", "End it"),
    "send": Entry(TRY, "once.operate.send", "Put the events of a file into the queue"),
    "received": Entry(TRY, "once.operate.destination", "What its destination was asked to do"),
    "destination": Entry(TRY, "once.operate.destination", "Break its destination, or put it right"),
    "normalise": Entry(
        TRY,
        "once.normalise",
        "Show the key that the enrichment gives each event",
        "once normalise once/examples/story.jsonl",
    ),
    "audit": Entry(
        TRY,
        "once.audit.command",
        "Say who duplicates the events of a capture",
        "once audit once/examples/story.jsonl --html audit.html",
    ),
    "mapping": Entry(TRY, "once.mapping", "Check which data action each family calls"),
    "genesys": Entry(
        TRY,
        "once.genesys.app",
        "Play Genesys Cloud and a webhook's receiver",
        "once genesys --port 8090 --script trouble.json",
    ),
    "status": Entry(OPERATE, "once.operate.status", "Say what waits, what is stuck, what helps"),
    "explain": Entry(OPERATE, "once.operate.explain", "Say what was decided, and why"),
    "parked": Entry(OPERATE, "once.operate.parked", "Events that wait for a person's decision"),
    "dead-letters": Entry(OPERATE, "once.operate.dead_letters", "Events that are no longer tried"),
    "forget": Entry(OPERATE, "once.operate.forget", "Let the next copy of an event act again"),
    "console": Entry(OPERATE, "once.console.command", "See a stack at work, in the browser"),
    "replay": Entry(OPERATE, "once.operate.replay", "Send a slice of the archive once more"),
    "check": Entry(OPERATE, "once.operate.check", "Look at the way in, try the rest with canaries"),
    "prove": Entry(OPERATE, "once.prove.command", "Ask AWS whether it is as we take it to be"),
    "hold": Entry(OPERATE, "once.operate.hold", "Let nobody call the destination for a while"),
    "resume": Entry(OPERATE, "once.operate.hold", "Let calls flow again, and start the pipe"),
    "template": Entry(
        OPERATE,
        "once.project",
        "Write out what `sam deploy` needs",
        "once template genesys-once",
    ),
    "permissions": Entry(
        OPERATE, "once.operate.permissions", "Print the IAM policy that is needed"
    ),
    "cost": Entry(
        PLAN,
        "once.plan.cost",
        "What a month costs, and what each setting saves",
        "once cost --events-per-month 1000000 --log-level ERROR",
    ),
    "capacity": Entry(
        PLAN,
        "once.plan.capacity",
        "Which quota binds first, and what to ask for",
        "once capacity --rate 50 --region eu-west-1",
    ),
}


def load(name: str) -> Any:
    """The command itself."""
    entry = ENTRIES[name]
    module = importlib.import_module(entry.module)
    app = typer.Typer()
    if entry.example is None:
        module.register(app)
    else:
        app.command(name, epilog=f"Example: {entry.example}")(getattr(module, name))
    return typer.main.get_group(app).commands[name]


def commands() -> Iterator[tuple[str, Any]]:
    """Every command that can be typed, by its words."""
    for name in ENTRIES:
        command = load(name)
        inner = getattr(command, "commands", None)
        if inner is None:
            yield name, command
        for word, one in (inner or {}).items():
            yield f"{name} {word}", one


class _Once(TyperGroup):
    """What a person can put right is said in a sentence, by every command."""

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
            from once.screen import put, screen

            errors = screen(stderr=True)
            for line in f"once: {error}".split("\n"):
                put(errors, line, style="red", markup=False)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:  # when all that it had started has ended
            from once.screen import put, screen

            put(screen(stderr=True), "Interrupted.")
            raise typer.Exit(130) from None


app = typer.Typer(
    cls=_Once,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Each Genesys Cloud event acts once: try it on this machine, operate it on AWS.",
    epilog="Exit codes: 0 all is well, 1 it could not be done, 2 it was typed wrongly, "
    "3 it was done and something wants attention, 130 it was interrupted.",
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
    signal.signal(signal.SIGTERM, _terminated)


def _terminated(*_: object) -> NoReturn:
    raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(app())
