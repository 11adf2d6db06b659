"""Keeps the wheels of the functions' requirements, so that only the first build needs an index."""

import hashlib
import os
import platform
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from once.embedded import child
from once.project import cache_folder


def settings(project: Path, environment: Mapping[str, str], log: Path) -> dict[str, str]:
    """What makes pip take its wheels from here; nothing where they are not to be had."""
    # Elsewhere sam wants wheels for Linux, which are others than pip would fetch there.
    if sys.platform != "linux":
        return {}
    requirements = sorted(project.glob("functions/*/requirements.txt"))
    wanted = [path.read_text() for path in requirements]
    name = hashlib.sha256(repr((wanted, sys.version_info[:2], platform.machine())).encode())
    folder = cache_folder() / "wheels" / name.hexdigest()[:16]
    if not folder.is_dir() and not _download(requirements, folder, environment, log):
        return {}
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}


def _download(
    requirements: list[Path], folder: Path, environment: Mapping[str, str], log: Path
) -> bool:
    named = [part for path in requirements for part in ("--requirement", str(path))]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            complete = Path(scratch, "wheels")
            pip = child.start(
                "pip",
                *("download", "--only-binary=:all:", "--dest", str(complete), *named),
                env=environment,
                log=log,
                remove=Path(scratch),
            )
            try:
                if pip.wait() == 0:
                    os.replace(complete, folder)
            finally:
                child.stop(pip)
    except OSError:
        pass  # a folder that cannot be written, or that another run has filled meanwhile
    return folder.is_dir()
