"""Keeps what `sam build` made of the project's own template, so that only a change is built again.

`sam build --cached` would not do: it starts the SAM CLI all the same, which is nearly all its time.
"""

import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from once.project import TEMPLATE, cache_folder

_UNUSED_SECONDS = 24 * 3600


def built(
    template: Path, parameters: Mapping[str, str], scratch: Path, build: Callable[[Path], None]
) -> Path:
    """The folder with the built template; `build` fills one that is given to it.

    `parameters` are all that the build may depend on, besides the template and the functions.
    """
    if template == TEMPLATE:
        kept = cache_folder() / "built" / _name(template, parameters)
        try:
            if not kept.is_dir():
                _keep(kept, build)
            os.utime(kept)
            return kept / "build"
        except OSError:
            pass  # a folder that cannot be written
    build(scratch / "build")
    return scratch / "build"


def _name(template: Path, parameters: Mapping[str, str]) -> str:
    """Of all that goes into a build, and of what built it."""
    files = sorted((template.parent / "functions").rglob("*"))
    content = [(str(f), f.read_bytes()) for f in files if f.is_file() and f.suffix != ".pyc"]
    made_of = (str(template), template.read_bytes(), content, sorted(parameters.items()))
    return hashlib.sha256(repr((made_of, version("aws-sam-cli"))).encode()).hexdigest()[:16]


def _keep(kept: Path, build: Callable[[Path], None]) -> None:
    """Whole or not at all; and who was faster with the same is left alone."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    # Beside the others, since the built template names the state machine by where it lies itself.
    complete = Path(tempfile.mkdtemp(dir=kept.parent))
    try:
        build(complete / "build")
        try:
            os.replace(complete, kept)
        except OSError:
            if not kept.is_dir():
                raise
    finally:
        shutil.rmtree(complete, ignore_errors=True)
    for other in kept.parent.iterdir():
        with suppress(FileNotFoundError):  # another run's, complete by now or tidied up
            _drop_if_unused(other)


def _drop_if_unused(other: Path) -> None:
    if time.time() - other.stat().st_mtime > _UNUSED_SECONDS:
        shutil.rmtree(other, ignore_errors=True)
