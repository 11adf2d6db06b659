"""Where the files are that `once` runs, as they lie in a clone: template.yaml and what it names.

A wheel carries them along (see pyproject.toml); `once template` writes them out for `sam deploy`.
"""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from once.errors import OnceError

_PACKAGE = Path(__file__).resolve().parent
_IN_WHEEL = _PACKAGE / "_project"
IN_CLONE = not _IN_WHEEL.is_dir()
ROOT = _PACKAGE.parent if IN_CLONE else _IN_WHEEL
TEMPLATE = ROOT / "template.yaml"
EXAMPLE = _PACKAGE / "examples" / "story.jsonl"

# What `sam deploy` reads, and the pages that the alarms of the template point to.
_DEPLOYED = ("template.yaml", "samconfig.toml", "statemachine", "functions", "docs")


def cache_folder() -> Path:
    """Where what was downloaded is kept: in the clone, or with the person's other caches."""
    return ROOT / ".once" if IN_CLONE else Path.home() / ".cache" / "genesys-once"


def template(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", file_okay=False, help="A folder, new or empty.")
    ],
) -> None:
    """Write out what `sam deploy` needs: the template, the state machine and the functions."""
    try:
        if folder.is_dir() and any(folder.iterdir()):
            raise OnceError(
                f"{folder} has files in it, which would be mixed with these. Name a new folder."
            )
        for name in _DEPLOYED:
            _copy(ROOT / name, folder / name)
    except OSError as error:
        raise OnceError(f"Cannot write to {error.filename or folder}: {error.strerror}.") from error
    typer.echo(f"Written. Deploy it with: cd {folder} && sam build && sam deploy --guided")


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
