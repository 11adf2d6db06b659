"""Keeps the results, one JSON file a record, each with a hash of what it was made from.

Run: python -m bench.records [--strict]. Lists the records whose sources have changed since; with
--strict it ends with 1 if there is one.
"""

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "bench" / "results"
_MACHINE, _SIM = "statemachine/once.asl.yaml", "proof/sim"
_ENRICHMENT = "functions/enrichment/once_enrichment"
_ACTION = "functions/data_action/once_data_action"
SOURCES: Mapping[str, tuple[str, ...]] = {
    "audit": (_ENRICHMENT, "once/audit"),
    "compare": (_MACHINE, _ENRICHMENT, _ACTION, "bench/compare"),
    "cost": (_MACHINE, _ACTION, "bench/cost.py", "bench/prices.toml", "bench/machine_log.py"),
    "data_action": (_ACTION, "bench/data_action.py"),
    "enrichment": (_ENRICHMENT, "bench/enrichment.py"),
    "jsonata": (_MACHINE, "proof/asl", "bench/jsonata.py"),
    "simulator": (_MACHINE, _ENRICHMENT, _ACTION, _SIM),
}


def write(name: str, result: Mapping[str, Any]) -> None:
    """Writes a record with its date, its sources and how busy this computer was."""
    about = {
        "date": datetime.now(UTC).date().isoformat(),
        "madeFrom": made_from(name),
        "measuredUnder": {"cores": os.cpu_count(), "load": round(os.getloadavg()[1], 2)},
    }
    (FOLDER / f"{name}.json").write_text(json.dumps(about | dict(result), indent=1) + "\n")


def write_if_it_holds(name: str, result: Mapping[str, Any], broken: list[str]) -> int:
    """Writes a record within its bounds, or leaves the last one; returns the exit code."""
    for bound in broken:
        print(f"Not recorded, a bound did not hold: {bound}", file=sys.stderr)
    if not broken:
        write(name, result)
    return 1 if broken else 0


def read(name: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return result


def made_from(name: str) -> str:
    """Returns one hash of all sources of a record."""
    hashed = hashlib.sha256()
    for source in SOURCES[name]:
        path = ROOT / source
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.suffix in (".py", ".yaml", ".toml"):
                hashed.update(file.relative_to(ROOT).as_posix().encode() + file.read_bytes())
    return hashed.hexdigest()[:12]


def stale() -> list[str]:
    """Returns the records that were made from other sources, or never."""
    return [
        name
        for name in SOURCES
        if not (FOLDER / f"{name}.json").is_file() or read(name).get("madeFrom") != made_from(name)
    ]


def main() -> int:
    changed = stale()
    for name in changed:
        print(f"bench/results/{name}.json was made from other sources.", file=sys.stderr)
    return 1 if changed and "--strict" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
