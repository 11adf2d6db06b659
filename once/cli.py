"""The `once` command line."""

import signal
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from typer.core import TyperGroup

from once.errors import OnceError
from once.genesys.server import genesys
from once.mapping import app as mapping
from once.normalise import normalise
from once.operate.app import register
from once.operate.up import parameters_of
from once.plan.capacity import capacity
from once.plan.cost import cost
from once.run.command import Plan, run
from once.run.report import Via
from once.run.terminal import Terminal


class _Once(TyperGroup):
    """What a person can mend is said in a sentence, by every command."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except OnceError as error:
            typer.secho(f"once: {error}", fg=typer.colors.RED, err=True)
            raise typer.Exit(1) from None


app = typer.Typer(
    cls=_Once,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Each Genesys Cloud event acts once: try it on this machine, operate it on AWS.",
    epilog="Exit codes: 0 all is well, 1 it could not be done, 2 it was typed wrongly, "
    "3 it was done and something wants attention, 130 it was interrupted.",
)
app.command("genesys", epilog="Example: once genesys --port 8090 --script trouble.json")(genesys)
app.command("normalise", epilog="Example: once normalise once/examples/story.jsonl")(normalise)
app.command("cost", epilog="Example: once cost --events-per-month 1000000 --log-level ERROR")(cost)
app.command("capacity", epilog="Example: once capacity --rate 50 --region eu-west-1")(capacity)
app.add_typer(mapping, name="mapping")
register(app)


@app.callback()
def _main() -> None:
    # So that TERM, too, unwinds what was started.
    signal.signal(signal.SIGTERM, _terminated)


def _terminated(*_: object) -> NoReturn:
    raise SystemExit(128 + signal.SIGTERM)


@app.command("run", epilog="Example: once run once/examples/story.jsonl --report report.json")
def run_command(
    events: Annotated[
        Path, typer.Argument(metavar="EVENTS.jsonl", help="One event per line, in any known shape.")
    ],
    report: Annotated[
        Path | None, typer.Option(help="Write what became of each line here.")
    ] = None,
    via: Annotated[
        Via, typer.Option(help="Into the queue as the rule would deliver, or through a bus.")
    ] = "queue",
    step: Annotated[
        bool, typer.Option("--step", help="Send a line only when the one before is settled.")
    ] = False,
    destination: Annotated[
        Path | None,
        typer.Option(
            help="How the destination behaves (see `once genesys`). "
            "Default: EVENTS.destination.json, where it exists."
        ),
    ] = None,
    faults: Annotated[
        Path | None,
        typer.Option(
            help="What is to go wrong on the way, and how often (see once/examples/chaos.toml)."
        ),
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PARAMETER=VALUE", help="Set a parameter of template.yaml."),
    ] = None,
) -> None:
    """Send events through the real template on an embedded AWS and show what became of them."""
    plan = Plan(events, via, step, parameters_of(parameters), destination, faults)
    console = Console()
    if report is not None and not report.absolute().parent.is_dir():
        raise OnceError(f"Cannot write the report to {report}: its folder does not exist.")
    with Terminal(console) as terminal:
        result, received = run(plan, terminal)
    if report is not None:
        _write(report, result.to_json())
    terminal.summary(result, received)
    raise typer.Exit(0 if result.settled else 1)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise OnceError(f"Cannot write the report to {path}: {error.strerror}.") from error


if __name__ == "__main__":
    sys.exit(app())
