"""Whatever ends `once run`, nothing that it started stays behind: no process, file or open port."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proof.events import customer_start
from proof.terminal import SECONDS, hear_ctrl_c, read_until

pytestmark = pytest.mark.local


class Run:
    """A `once run` whose files, and so the command lines of all it starts, lie in one folder."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.scratch = folder / "scratch with ümlauts"
        self.scratch.mkdir()
        events = folder / "my events.jsonl"
        events.write_text(json.dumps(customer_start()) + "\n")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "once.cli", "run", str(events), *options],
            cwd=folder,
            env={**os.environ, "TMPDIR": str(self.scratch), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=hear_ctrl_c,
        )
        self.output = bytearray()

    def wait(self) -> int:
        rest, _ = self.process.communicate(timeout=SECONDS)
        self.output += rest
        return self.process.returncode

    def processes(self) -> list[str]:
        listed = subprocess.run(
            ["ps", "-axww", "-o", "stat=,command="], capture_output=True, text=True
        )
        return [
            line
            for line in listed.stdout.splitlines()
            if str(self.scratch) in line and not line.startswith("Z")
        ]

    def assert_nothing_is_left(self) -> None:
        until = time.monotonic() + SECONDS
        while self.processes() and time.monotonic() < until:
            time.sleep(0.1)
        assert self.processes() == []
        assert list(self.scratch.iterdir()) == []


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    runs: list[Run] = []

    def starter(*options: str) -> Run:
        runs.append(Run(tmp_path, *options))
        return runs[-1]

    yield starter
    for run in runs:
        if run.process.poll() is None:
            run.process.kill()
        run.process.communicate()


def test_normal_end_leaves_nothing_and_needs_no_plain_path(start: Callable[..., Run]) -> None:
    run = start()
    assert run.wait() == 0, run.output.decode()
    run.assert_nothing_is_left()


def test_unknown_parameter_is_named_with_those_there_are(start: Callable[..., Run]) -> None:
    run = start("--set", "MaxTrys=3")
    assert run.wait() == 1
    run.assert_nothing_is_left()
    assert b"MaxTries" in run.output
    assert b"Traceback" not in run.output


BUILDS, DEPLOYS = "starting the AWS emulator", "deploying (sam deploy)"


@pytest.mark.parametrize(
    ("step", "number", "code"),
    [
        (BUILDS, signal.SIGINT, 130),
        (BUILDS, signal.SIGTERM, 143),
        (BUILDS, signal.SIGKILL, -9),
        (DEPLOYS, signal.SIGKILL, -9),
    ],
)
def test_signal_leaves_nothing(
    start: Callable[..., Run], step: str, number: signal.Signals, code: int
) -> None:
    run = start()
    read_until(run.process, run.output, step)
    time.sleep(0.3)  # the middle of a step, not its first instruction
    run.process.send_signal(number)
    assert run.wait() == code
    run.assert_nothing_is_left()
    assert b"Traceback" not in run.output
