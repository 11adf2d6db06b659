"""The recorded results: one JSON file a bench, and all that the documents say comes from them."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


def write_if_it_holds(name: str, result: dict[str, Any], broken: Sequence[str]) -> int:
    """A record within its bounds, and the exit code; what breaks one leaves the last as it was."""
    for bound in broken:
        print(f"Not recorded, a bound did not hold: {bound}", file=sys.stderr)
    if not broken:
        write(name, result)
    return 1 if broken else 0


def write(name: str, result: dict[str, Any]) -> None:
    """With how busy the machine was: most of what is timed depends on it."""
    FOLDER.mkdir(exist_ok=True)
    result = result | {"measuredUnder": {"cores": os.cpu_count(), "load": os.getloadavg()[1]}}
    (FOLDER / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n")


def read(name: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return result
