"""`once mapping check`: the operator's actions.toml, judged before it is deployed."""

from pathlib import Path
from typing import Annotated

import data_action
import typer
from data_action import mapping

_EXAMPLE = "functions/data_action/actions.toml"
_SHIPPED = Path(data_action.__file__).parents[1] / "actions.toml"


def register(app: typer.Typer) -> None:
    mapping = typer.Typer(
        no_args_is_help=True, help="Which data action each family of events calls."
    )
    mapping.callback()(_group)
    mapping.command("check", epilog=f"Example: once mapping check {_EXAMPLE}")(check)
    app.add_typer(mapping, name="mapping")


def _group() -> None:
    """Keeps `check` a command of its own."""


def check(
    file: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="The mapping.")
    ] = _SHIPPED,
) -> None:
    """Name every faulty or doubtful line of a mapping; ends with 1 if one is faulty."""
    findings = mapping.check(file.read_text("utf-8"))
    for finding in findings:
        typer.echo(f"{file}:{finding.line}: {'' if finding.fatal else 'note: '}{finding.text}")
    faults = sum(finding.fatal for finding in findings)
    if faults:
        typer.secho(f"{faults} to correct before deploying", fg=typer.colors.RED, err=True)
        raise typer.Exit(1)
    typer.echo(f"{file}: no line is faulty")
