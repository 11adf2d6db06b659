"""`once template`: writes out what `sam deploy` needs."""

import shlex
import shutil
from pathlib import Path

import click

from once.cli_options import Output, standalone
from once.errors import OnceError
from once.project import DEPLOYED, ROOT

_EVENT_SOURCE = "EventSourceName=aws.partner/genesys.com/cloud/ORGANISATION/SUFFIX"


@standalone("once template genesys-once")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
def command(_: Output, folder: Path) -> None:
    """Write the files that `sam deploy` needs into a new folder."""
    try:
        if folder.is_dir() and any(folder.iterdir()):
            raise OnceError(
                f"{folder} has files in it, which would be mixed with these. Name a new folder."
            )
        for name in DEPLOYED:
            source, target = ROOT / name, folder / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
    except OSError as error:
        raise OnceError(f"Cannot write to {error.filename or folder}: {error.strerror}.") from error
    click.echo("Written. Name your event source and your address, then deploy it with:")
    overrides = f'--parameter-overrides "{_EVENT_SOURCE} AlarmEmail=you@example.com"'
    click.echo(f"cd {shlex.quote(str(folder))} && sam build && sam deploy {overrides}")
