"""`once run`: a file of events through the real template on a local stack."""

import os
from pathlib import Path
from typing import Annotated

import typer

from once import answers
from once.errors import OnceError
from once.project import EXAMPLE
from once.run import command
from once.run.terminal import Terminal
from once.run.up import SET, parameters_of
from once.screen import screen
from once.sending import Via


@answers.command("once run --report report.json")
def run(
    events: Annotated[
        Path | None,
        typer.Argument(
            metavar="EVENTS",
            help="A file of events in any known form. Default: the example story, with --step.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write the outcome of each line to this file.")
    ] = None,
    via: Annotated[
        Via, typer.Option(help="Send to the queue, as the rule does, or through a bus.")
    ] = "queue",
    step: Annotated[
        bool,
        typer.Option(
            "--step",
            help="Send a copy or newer state only when the one before it is settled.",
        ),
    ] = False,
    destination: Annotated[
        Path | None,
        typer.Option(
            help="How the destination behaves (see `once genesys`). "
            "Default: EVENTS.destination.json, where it exists."
        ),
    ] = None,
    patience: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=1, help="End if no line was settled for this long."),
    ] = command.PATIENCE_SECONDS,
    parameters: Annotated[list[str] | None, SET] = None,
) -> None:
    """Send events through the real template on a local stack, and show the outcome of each."""
    plan = command.Plan(
        events or EXAMPLE,
        via,
        step or events is None,
        parameters_of(parameters),
        destination,
        patience,
    )
    if report is not None:
        _check_writable(report)
    with Terminal(screen()) as terminal:
        result, received = command.run(plan, terminal)
    terminal.summary(result, received)
    if report is not None:
        _write(report, result.to_json())
    if events is None:
        terminal.next_steps()
    raise typer.Exit(0 if result.settled else 1)


def _check_writable(path: Path) -> None:
    """Refuses a report that could not be written at the end of the run."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise OnceError(f"Cannot write the report to {path}: its folder does not exist.")
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise OnceError(
            f"Cannot write the report to {path}: it is a folder, or not yours to write."
        )


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise OnceError(f"Cannot write the report to {path}: {error.strerror}.") from error
