"""Times `once run` as a developer waits for it: python -m bench.once_run [TIMES].

The first run builds and is not counted. Each line says what its steps took, and the whole command
with the start of its Python.
"""

import re
import subprocess
import sys
import time

from once.project import ROOT

_STEP = re.compile(r"✓ (\w+).* ([\d.]+) s")


def main(times: int) -> int:
    _run()
    for _ in range(times):
        began = time.monotonic()
        said = _run()
        seconds = time.monotonic() - began
        steps = ", ".join(f"{step} {took}" for step, took in _STEP.findall(said))
        print(f"{seconds:.1f} s: {steps}", flush=True)
    return 0


def _run() -> str:
    command = [sys.executable, "-m", "once.cli", "run"]
    return subprocess.run(  # noqa: S603 - our own command
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if sys.argv[1:] else 3))
