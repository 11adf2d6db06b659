"""Keeps what a build needs and makes, so that only what has changed is downloaded and built again:
the wheels of the functions' requirements, and what `sam build` made of the project's own template.

`sam build --cached` would not do: it starts the SAM CLI all the same, which is nearly all its time.
"""

import hashlib
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from once.local import child
from once.project import TEMPLATE, cache_folder

_UNUSED_SECONDS = 24 * 3600


def built(template: Path, fitted: str, scratch: Path, build: Callable[[Path], None]) -> Path:
    """Returns the folder with the built template; `build` fills one that is given to it.

    The build depends on the functions and on `fitted`, the text that is made of the template.
    """
    if template == TEMPLATE:
        files = sorted((template.parent / "functions").rglob("*"))
        content = [(str(f), f.read_bytes()) for f in files if f.is_file() and f.suffix != ".pyc"]
        made_of = (str(template), fitted, content)
        kept = _place("builds", made_of, version("aws-sam-cli"))
        with suppress(OSError):  # a folder that cannot be written
            if not kept.is_dir():
                # The built template names the state machine by where it lies itself.
                _keep(kept, lambda folder: build(folder / "build"))
                for other in kept.parent.iterdir():
                    with suppress(FileNotFoundError):  # another run's, complete by now or tidied up
                        if time.time() - other.stat().st_mtime > _UNUSED_SECONDS:
                            shutil.rmtree(other, ignore_errors=True)
            os.utime(kept)
            return kept / "build"
    build(scratch / "build")
    return scratch / "build"


def settings_of_pip(project: Path, environment: Mapping[str, str], log: Path) -> dict[str, str]:
    """Returns what makes pip take its wheels from here; nothing if they are not to be had."""
    # Elsewhere sam wants wheels for Linux, which are others than pip would fetch there.
    if sys.platform != "linux":
        return {}
    requirements = sorted(project.glob("functions/*/requirements.txt"))
    wanted = [path.read_text() for path in requirements]
    kept = _place("wheels", wanted, sys.version_info[:2], platform.machine())

    def download(folder: Path) -> None:
        named = [part for path in requirements for part in ("--requirement", str(path))]
        pip = child.start(
            "pip",
            *("download", "--only-binary=:all:", "--dest", str(folder), *named),
            env=environment,
            log=log,
            remove=folder,
        )
        try:
            if pip.wait() != 0:
                raise OSError("pip found no wheels")
        finally:
            child.stop(pip)

    with suppress(OSError):  # no index, or a folder that cannot be written
        if not kept.is_dir():
            _keep(kept, download)
        # As an address: pip reads the variable as a list that spaces divide.
        return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": kept.as_uri()}
    return {}


def _place(kind: str, *made_of: object) -> Path:
    return cache_folder() / kind / hashlib.sha256(repr(made_of).encode()).hexdigest()[:16]


def _keep(kept: Path, fill: Callable[[Path], None]) -> None:
    """Fills a folder, whole or not at all; one that another run has filled meanwhile stays."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    complete = Path(tempfile.mkdtemp(dir=kept.parent))
    try:
        fill(complete)
        try:
            os.replace(complete, kept)
        except OSError:
            if not kept.is_dir():
                raise
    finally:
        shutil.rmtree(complete, ignore_errors=True)
