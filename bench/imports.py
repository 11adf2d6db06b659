"""Measures how long an import takes in a cold start: processor time in a fresh interpreter, for
which compiled files are there already.
"""

import compileall
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROUNDS = 15


def compare(package: Path, theirs: str, ours: str) -> tuple[float, float, float]:
    """Returns the milliseconds of both, and the ratio of ours to theirs.

    `theirs` and `ours` are statements; they run in turns, so that they meet the same noise.
    """
    compileall.compile_dir(package, quiet=1)
    times = [[_milliseconds(package, one) for one in (theirs, ours)] for _ in range(ROUNDS)]
    theirs_ms, ours_ms = (round(statistics.median(one), 1) for one in zip(*times, strict=True))
    return theirs_ms, ours_ms, round(statistics.median(mine / base for base, mine in times), 3)


def _milliseconds(package: Path, statements: str) -> float:
    code = (
        "import time; start = time.thread_time()\n"
        f"{statements}\nprint((time.thread_time() - start) * 1000)"
    )
    environment = os.environ | {"PYTHONPATH": str(package)}
    run = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return float(run.stdout)
