"""A child ends with its parent, and takes along whatever it started itself."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from once.local import child

# Starts a child that fills a folder, says both pids, and never ends by itself.
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
BUSY = "import itertools, os, sys\\nfor n in itertools.count():\\n"
BUSY += " os.makedirs(os.path.join(sys.argv[1], str(n % 1000)), exist_ok=True)"
child = subprocess.Popen([sys.executable, "-c", BUSY, sys.argv[1]])
print(os.getpid(), child.pid, flush=True)
time.sleep(600)
"""

PATIENCE_SECONDS = 60
PARENT = """
import os, sys, time
from pathlib import Path
from once.local import child
program, log, removed = map(Path, sys.argv[1:])
child.start(str(program), str(removed), env=os.environ, log=log, remove=removed)
time.sleep(600)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "stubborn.py"
    path.write_text(STUBBORN)
    return path


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "log"
    yield path
    said, *_ = path.read_text().splitlines()  # what follows is of those who clear up
    for pid in map(int, said.split()):  # only if the test failed
        if lives(pid):
            os.kill(pid, signal.SIGKILL)


def lives(pid: int) -> bool:
    """A zombie does not: who inherited it may take a while to collect it."""
    found = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return bool(found.stdout.strip()) and not found.stdout.strip().startswith("Z")


def pids(log: Path) -> list[int]:
    assert soon(lambda: log.is_file() and log.read_text().endswith("\n")), "it did not start"
    return [int(pid) for pid in log.read_text().split()]


def soon(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + PATIENCE_SECONDS
    while not holds() and time.monotonic() < until:
        time.sleep(0.02)
    return holds()


def test_stop_ends_a_program_that_ignores_term_and_its_child(
    program: Path, log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "TERMINATE_SECONDS", 0.2)
    process = child.start(str(program), str(tmp_path), env=os.environ, log=log)
    started = pids(log)
    assert all(map(lives, started))
    child.stop(process)
    assert soon(lambda: not any(map(lives, started)))


def test_a_killed_parent_takes_all_of_it_along_and_its_files(
    program: Path, log: Path, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    (scratch / "deep").mkdir(parents=True)
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(program), str(log), str(scratch)],
        cwd=Path(child.__file__).parents[2],
    )
    started = pids(log)
    assert all(map(lives, started))
    parent.kill()
    parent.wait()
    assert soon(lambda: not any(map(lives, started)))
    assert soon(lambda: not scratch.exists())


@pytest.mark.parametrize(
    ("program", "prints"),
    [("this", "Beautiful is better than ugly"), ("reads.py", "'nothing'")],
    ids=["module", "file, with an empty input"],
)
def test_a_module_or_a_file_runs(tmp_path: Path, program: str, prints: str) -> None:
    (tmp_path / "reads.py").write_text("import sys; print(repr(sys.stdin.read() or 'nothing'))")
    log = tmp_path / "log"
    process = child.start(program, env=os.environ, log=log, cwd=tmp_path)
    assert process.wait(PATIENCE_SECONDS) == 0
    child.stop(process)
    assert prints in log.read_text()
