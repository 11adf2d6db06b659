"""A local stack that is interrupted, or loses its emulator, says so and leaves nothing behind.

`once run` is interrupted in tests/e2e/test_cleanup.py.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from once.operate import running
from once.project import ROOT
from proof.terminal import hear_ctrl_c

pytestmark = pytest.mark.local

DEV = ("dev", "--no-browser", "--port", "0")
EMULATOR, DEPLOYING = "local/server.py", "samcli deploy"
PATIENCE_SECONDS = 240


class Typed:
    """A command in a folder of its own; all that it starts has the folder in its arguments."""

    def __init__(self, folder: Path, *words: str) -> None:
        self._folder = folder
        self.said = folder / "said"
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        with self.said.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "once.cli", *words],
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(self.scratch)},
                preexec_fn=hear_ctrl_c,
            )

    def started(self, program: str = "") -> list[int]:
        listed = subprocess.run(["ps", "-axww", "-o", "pid=,args="], capture_output=True, text=True)
        lines = [line for line in listed.stdout.splitlines() if str(self.scratch) in line]
        return [int(line.split()[0]) for line in lines if program in line]

    def wait_until(self, is_so: Callable[[], object]) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        while not is_so():
            assert time.monotonic() < until, self.said.read_text()
            time.sleep(0.1)

    def leaves_nothing(self) -> None:
        self.wait_until(lambda: not self.started() and not list(self.scratch.iterdir()))
        self.wait_until(lambda: running.find(self._folder / ".once") is None)
        assert "Traceback" not in self.said.read_text()


@pytest.mark.parametrize("program", [EMULATOR, DEPLOYING])
@pytest.mark.parametrize("words", [("up",), DEV], ids=lambda words: words[0])
def test_ctrl_c_while_a_stack_starts_ends_all_of_it(
    tmp_path: Path, words: tuple[str, ...], program: str
) -> None:
    typed = Typed(tmp_path, *words)
    typed.wait_until(lambda: typed.started(program))
    typed.process.send_signal(signal.SIGINT)
    assert typed.process.wait(60) == 130
    assert "Interrupted." in typed.said.read_text()
    typed.leaves_nothing()


def test_dev_whose_emulator_is_killed_says_so_and_ends(tmp_path: Path) -> None:
    typed = Typed(tmp_path, *DEV)
    typed.wait_until(lambda: "once send FILE" in typed.said.read_text())
    os.kill(typed.started(EMULATOR)[0], signal.SIGKILL)
    assert typed.process.wait(60) == 1
    assert "The AWS emulator has ended" in typed.said.read_text()
    typed.leaves_nothing()


def test_run_whose_emulator_is_killed_says_so(tmp_path: Path) -> None:
    typed = Typed(tmp_path, "run")
    typed.wait_until(lambda: "✓ deploying" in typed.said.read_text())
    os.kill(typed.started(EMULATOR)[0], signal.SIGKILL)
    assert typed.process.wait(60) == 1
    assert "The local stack stopped answering" in typed.said.read_text()
    typed.leaves_nothing()


def test_a_stack_that_is_up_ends_with_its_emulator(tmp_path: Path) -> None:
    typed = Typed(tmp_path, "up")
    assert typed.process.wait(PATIENCE_SECONDS) == 0
    os.kill(typed.started(EMULATOR)[0], signal.SIGKILL)
    typed.leaves_nothing()
