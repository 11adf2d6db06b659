"""The option with which commands set parameters of the template that they deploy."""

from pathlib import Path

import click

from once.errors import OnceError

_FILE = "file://"


def _read(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    chosen = {}
    for assignment in given:
        name, equals, value = assignment.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{assignment!r} is not Parameter=Value")
        if value.startswith(_FILE):
            path = value.removeprefix(_FILE)
            try:
                value = Path(path).read_text().rstrip("\n")
            except OSError as error:
                raise OnceError(f"Cannot read {path}: {error.strerror}.") from error
        chosen[name] = value
    return chosen


SET = click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="PARAMETER=VALUE",
    callback=_read,
    help="Set a parameter of template.yaml. file://PATH reads a secret value from a file, since "
    "other users of this machine can read arguments.",
)
SCRIPT = click.option(
    "--destination",
    "script",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="How the destination behaves, as JSON (docs/data-action.md).",
)
