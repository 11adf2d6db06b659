"""Finds the files that `once` runs, laid out as in a clone: template.yaml and what it names.

A wheel carries them along (see pyproject.toml).
"""

import os
import shlex
import shutil
import sys
import tomllib
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

from once_enrichment.routes import InvalidRoutesError, Routes, parse_routes

from once.errors import OnceError

_PACKAGE = Path(__file__).resolve().parent
_IN_WHEEL = _PACKAGE / "_project"
IN_CLONE = not _IN_WHEEL.is_dir()
ROOT = _PACKAGE.parent if IN_CLONE else _IN_WHEEL
TEMPLATE = ROOT / "template.yaml"
ROUTES = ROOT / "functions" / "enrichment" / "routes.toml"
EXAMPLE = _PACKAGE / "examples" / "story.jsonl"
HOW_TO_GET_EVENTS = "Give a file of events, e.g. what this writes: once example > events.jsonl"
_PYTHON = "3.13"  # of the functions, as samconfig.toml has it

# What `sam deploy` reads, and the pages that the alarms of the template point to.
DEPLOYED = ("template.yaml", "samconfig.toml", "statemachine", "functions", "docs")


def read_samconfig() -> dict[str, Any]:
    """Reads the parameters that `sam deploy` would use, from this folder or the clone."""
    files = (folder / "samconfig.toml" for folder in (Path.cwd(), ROOT))
    path = next((file for file in files if file.is_file()), None)
    if path is None:
        return {}
    try:
        default = tomllib.loads(path.read_text("utf-8")).get("default", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise OnceError(f"{path} is not TOML: {error}.") from error
    every, own = (default.get(name, {}).get("parameters", {}) for name in ("global", "deploy"))
    return {**every, **own}


def find_routes() -> Path:
    """Returns the file of the project in this folder, which `make deploy` deploys, else the one
    that `once` has."""
    own = Path("functions/enrichment/routes.toml")
    return own if own.is_file() else ROUTES


def read_routes(path: Path) -> Routes:
    """Reads a file of routes; OnceError says why it cannot be used."""
    try:
        return parse_routes(str(path), decode(path))
    except InvalidRoutesError as error:
        raise OnceError(f"{error}.") from None


def decode(path: Path) -> str:
    """Reads a text that a person wrote; OnceError names the line that is not UTF-8."""
    content = path.read_bytes()
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise OnceError(f"{path}:{line}: not UTF-8. Save the file as UTF-8.") from None


def cache_folder() -> Path:
    """Returns the folder of downloads: in the clone, or with the user's other caches."""
    return ROOT / ".once" if IN_CLONE else Path.home() / ".cache" / "genesys-once"


def say_how_to_install(extra: str) -> str:
    """Names the command that brings `once` with an extra: from the clone, or without one."""
    if IN_CLONE:
        return "make setup"
    urls = metadata("genesys-once").get_all("Project-URL") or []
    address = next(url.partition(", ")[2] for url in urls if url.startswith("Repository"))
    return f"uv tool install --python {_PYTHON} 'genesys-once[{extra}] @ git+{address}'"


def say_how_to_type_once() -> str | None:
    """Names the command after which a shell finds `once`; None if it does so already."""
    program = shutil.which("once")
    is_passing = program is not None and not IN_CLONE and "UV" in os.environ  # as uvx sets it
    if program and not is_passing:
        return None
    activate = Path(sys.executable).with_name("activate")
    if activate.is_file() and not is_passing:
        return f"source {shlex.quote(str(activate))}"
    return say_how_to_install("local")
