"""Measures the time and the memory of `once audit` for a large capture.

Run: python -m bench.audit. Writes bench/results/audit.json.
"""

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from pathlib import Path
from random import Random

from bench import sources
from bench.events import Centre, text, usual

EVENTS = 200_000
SEED = 20261118
LONGEST_LATE = 20_000  # events


def capture() -> Iterator[str]:
    """Yields lines as EventBridge delivers them: a fifth are copies, of each usual cause."""
    centre, random = Centre(SEED), Random(SEED)  # noqa: S311 - to be repeated, not to be guessed
    late: list[tuple[int, str]] = []
    for number, event in zip(count(), usual(centre), strict=False):
        yield text(event)
        luck = random.random()
        if luck < 0.08:
            yield text(event)
        elif luck < 0.16:
            yield text(centre.published_again(event, random.randrange(90)))
        elif luck < 0.2:
            again = centre.published_again(event, 0, "second")
            heappush(late, (number + random.randrange(LONGEST_LATE), text(again)))
        while late and late[0][0] < number:
            yield heappop(late)[1]


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "capture.jsonl"
        with path.open("w") as file:
            for _, line in zip(range(EVENTS), capture(), strict=False):
                file.write(f"{line}\n")
        megabytes = path.stat().st_size // 1_000_000
        command = [sys.executable, "-m", "once.cli", "audit", str(path), "--json"]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)  # noqa: S603 - ours
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    figures = {
        "events": EVENTS,
        "megabytes": megabytes,
        "processorSeconds": round(used.ru_utime + used.ru_stime, 1),
        "peakMegabytes": round(used.ru_maxrss / 1024),
    }
    print(figures)
    sources.write("audit", figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
