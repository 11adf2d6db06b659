"""Measures the time and the memory of `once audit` for a large capture.

Run: python -m bench.audit. Writes bench/results/audit.json.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from random import Random

from bench import sources
from bench.events import START_MS, Centre, text

EVENTS = 200_000
SEED = 20261118
AGENTS = 200
LONGEST_LATE_MS = 400_000
_LOOK_SECONDS = 0.5


def capture(seed: int) -> Iterator[str]:
    """Yields lines as EventBridge delivers them: a fifth are copies, of each usual cause."""
    centre = Centre(seed)
    random = Random(seed)  # noqa: S311 - to be repeated, not to be guessed
    agents = [centre.id() for _ in range(AGENTS)]
    late: list[tuple[int, str]] = []
    at = START_MS
    while True:
        at += random.randrange(400)
        conversation = centre.id()
        steps = ("customer.start", "acd.start", "acd.end", "user.start", "user.end", "customer.end")
        events = [
            centre.conversation(step, at + turn * 700, conversation)
            for turn, step in enumerate(steps)
        ]
        state = random.choice(("AVAILABLE", "BUSY", "AWAY"))
        events.append(centre.presence(random.choice(agents), state, at))
        if random.random() < 0.3:
            verified = {"verified": random.choice(("yes", "no"))}
            agent = random.choice(agents)
            events.append(centre.snapshot(agent, conversation, at, attributes=verified))
        if random.random() < 0.2:
            events.append(centre.membership(random.choice(agents), random.random() < 0.5, at))
        for event in events:
            line = text(event)
            yield line
            luck = random.random()
            if luck < 0.08:
                yield line
            elif luck < 0.16:
                yield text(centre.published_again(event, random.randrange(90)))
            elif luck < 0.2:
                again = centre.published_again(event, 0, "second")
                late.append((at + random.randrange(LONGEST_LATE_MS), text(again)))
        while late and late[0][0] < at:
            yield late.pop(0)[1]


def measured(path: Path) -> dict[str, float]:
    """Runs one audit in a process: its seconds, and the most memory of it and its helpers."""
    began = time.monotonic()
    command = [sys.executable, "-m", "once.cli", "audit", str(path), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603
    most_kb: dict[int, int] = {}
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        for one in _family(process.pid):
            most_kb[one] = max(most_kb.get(one, 0), _peak_kb(one))
        time.sleep(_LOOK_SECONDS)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError("the audit failed")
    return {
        "wallSeconds": round(time.monotonic() - began, 1),
        "processorSeconds": round(usage.ru_utime + usage.ru_stime, 1),
        "peakMegabytes": round(sum(most_kb.values()) / 1024),
    }


def _family(pid: int) -> list[int]:
    """Returns a process and its children."""
    family = [pid]
    with suppress(OSError):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        family += map(int, children)
    return family


def _peak_kb(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1])
    return 0


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "capture.jsonl"
        with path.open("w") as file:
            file.writelines(f"{line}\n" for line in islice(capture(SEED), EVENTS))
        figures = {"events": EVENTS, "megabytes": path.stat().st_size // 1_000_000}
        figures |= measured(path)
    print(figures)
    sources.write("audit", figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
