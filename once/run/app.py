"""`once run`: a file of events through the real template on an embedded AWS."""

from pathlib import Path
from typing import Annotated

import typer

from once.errors import OnceError
from once.project import EXAMPLE
from once.run import command
from once.run.report import Via
from once.run.terminal import Terminal
from once.run.up import parameters_of
from once.screen import screen


def run(
    events: Annotated[
        Path | None,
        typer.Argument(
            metavar="EVENTS",
            help="One event a line, in any known shape, or JSON. Default: the example story, "
            "with --step.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write what became of each line here.")
    ] = None,
    via: Annotated[
        Via, typer.Option(help="Into the queue as the rule would deliver, or through a bus.")
    ] = "queue",
    step: Annotated[
        bool,
        typer.Option(
            "--step",
            help="Send a line only when the one before it, of the same subject, is settled.",
        ),
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
    patience: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=1, help="End when no line was settled for so long."),
    ] = command.PATIENCE_SECONDS,
    parameters: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PARAMETER=VALUE", help="Set a parameter of template.yaml."),
    ] = None,
) -> None:
    """Send events through the real template on an embedded AWS and show what became of them."""
    plan = command.Plan(
        events or EXAMPLE,
        via,
        step or events is None,
        parameters_of(parameters),
        destination,
        faults,
        patience,
    )
    if report is not None and not report.absolute().parent.is_dir():
        raise OnceError(f"Cannot write the report to {report}: its folder does not exist.")
    with Terminal(screen()) as terminal:
        result, received = command.run(plan, terminal)
    if report is not None:
        _write(report, result.to_json())
    terminal.summary(result, received)
    if events is None:
        terminal.next_steps()
    raise typer.Exit(0 if result.settled else 1)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise OnceError(f"Cannot write the report to {path}: {error.strerror}.") from error
