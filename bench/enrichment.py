"""Measures the enrichment: the time of a batch, the time of its import, and its size.

Run: python -m bench.enrichment. Writes bench/results/enrichment.json.

It counts the time of the thread: that of the process is wrong by half while the budget's timer
runs, since the kernel then sums it up in ticks.
"""

import hashlib
import io
import json
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from once_enrichment import handler

from bench import imports, records
from bench.genesys_mix import mixed, snapshots

PACKAGE = Path(handler.__file__).parents[1]

ROUNDS = 20
MIXED_BATCHES = 20
SNAPSHOT_KILOBYTES = (5, 20, 60)
MOST_P99_MS = 10
MOST_IMPORT_RATIO = 2.0
MOST_ZIP_BYTES = 4 * 1024 * 1024
ONE_MODEL = "from pydantic import BaseModel\nclass Event(BaseModel):\n    id: str"

Batch = list[dict[str, Any]]


def parse_and_hash(batch: Batch) -> None:
    for record in batch:
        json.loads(record["body"])
        hashlib.sha256(record["body"].encode()).hexdigest()


def enrich(batch: Batch) -> None:
    handler.handler(batch, None)


def measure_mixed() -> dict[str, float]:
    """Times each mixed batch of ten once, so that nothing of it is known before."""
    for way in (parse_and_hash, enrich):
        for batch in mixed(0, MIXED_BATCHES):
            way(batch)
    batches = [batch for seed in range(1, ROUNDS + 1) for batch in mixed(seed, MIXED_BATCHES)]
    taken = [milliseconds(enrich, batch) for batch in batches]
    least = [milliseconds(parse_and_hash, batch) for batch in batches]
    return {
        "batches": len(taken),
        "median_ms": round(statistics.median(taken), 2),
        "p99_ms": round(statistics.quantiles(taken, n=100)[98], 2),
        "at_most_p99_ms": MOST_P99_MS,
        "parse_and_hash_median_ms": round(statistics.median(least), 2),
    }


def measure_snapshots() -> dict[str, float]:
    """Times snapshots one by one, by size: milliseconds, the least of some runs."""
    return {
        f"{kilobytes} KB": round(_least_ms(snapshots(kilobytes, kilobytes)), 2)
        for kilobytes in SNAPSHOT_KILOBYTES
    }


def _least_ms(records: Sequence[dict[str, Any]]) -> float:
    runs = [[milliseconds(enrich, [record]) for record in records] for _ in range(ROUNDS)]
    return min(statistics.fmean(run) for run in runs)


def milliseconds(work: Callable[[Batch], None], batch: Batch) -> float:
    start = time.thread_time()
    work(batch)
    return (time.thread_time() - start) * 1000


def measure_import() -> dict[str, float]:
    """Pydantic loads what it needs with the first model, so it is measured with a small one."""
    theirs_ms, ours_ms, ratio = imports.compare(
        PACKAGE, ONE_MODEL, "import once_enrichment.handler"
    )
    return {
        "pydantic_with_one_model_ms": theirs_ms,
        "enrichment_ms": ours_ms,
        "ratio": ratio,
        "at_most": MOST_IMPORT_RATIO,
    }


def measure_package() -> dict[str, int]:
    """Installs the function's requirements as sam build would, and zips the folder."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "enrichment"
        shutil.copytree(PACKAGE, folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        requirements = ("--target", str(folder), "-r", str(PACKAGE / "requirements.txt"))
        subprocess.run(  # noqa: S603 - pip, with our own requirements
            [sys.executable, "-m", "pip", "install", "--quiet", *requirements], check=True
        )
        zipped = io.BytesIO()
        with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    archive.write(path, path.relative_to(folder))
        return {"zipped_bytes": len(zipped.getvalue()), "at_most": MOST_ZIP_BYTES}


def main() -> int:
    result = {
        "python": platform.python_version(),
        "mixed": measure_mixed(),
        "snapshots": measure_snapshots(),
        "import": measure_import(),
        "package": measure_package(),
    }
    print(json.dumps(result, indent=2))
    return records.write_if_it_holds("enrichment", result, broken_bounds(result))


def broken_bounds(result: dict[str, Any]) -> list[str]:
    held = {
        "a mixed batch of ten": result["mixed"]["p99_ms"] <= MOST_P99_MS,
        "import": result["import"]["ratio"] <= MOST_IMPORT_RATIO,
        "package": result["package"]["zipped_bytes"] <= MOST_ZIP_BYTES,
    }
    return [name for name, holds in held.items() if not holds]


if __name__ == "__main__":
    sys.exit(main())
