"""Keeps the results: one JSON file a record, from which the documents take every number."""

import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from bench import sources

FOLDER = sources.RESULTS


def write_if_it_holds(name: str, result: dict[str, Any], broken: Sequence[str]) -> int:
    """Writes a record within its bounds, or leaves the last one; returns the exit code."""
    for bound in broken:
        print(f"Not recorded, a bound did not hold: {bound}", file=sys.stderr)
    if not broken:
        write(name, result)
    return 1 if broken else 0


def write(name: str, result: dict[str, Any]) -> None:
    """Writes a record with its date, its sources and how busy the machine was."""
    about = {
        "date": datetime.now(UTC).date().isoformat(),
        "madeFrom": sources.hashes(name),
        "measuredUnder": {"cores": os.cpu_count(), "load": round(os.getloadavg()[1], 2)},
    }
    (FOLDER / f"{name}.json").write_text(json.dumps(about | result, indent=2) + "\n", "utf-8")


def read(name: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return result
