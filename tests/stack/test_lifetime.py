"""Whatever ends `once run`, nothing that it started stays behind: no process, file or open port."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from proof.events import customer_start
from proof.terminal import hear_ctrl_c

pytestmark = pytest.mark.local

_SECONDS = 240.0


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
        self.output = b""

    def read_until(self, text: str) -> None:
        assert self.process.stdout is not None
        until = time.monotonic() + _SECONDS
        while text.encode() not in self.output:
            left = until - time.monotonic()
            assert left > 0, self.output.decode()
            if select.select([self.process.stdout], [], [], left)[0]:
                chunk = os.read(self.process.stdout.fileno(), 65536)
                assert chunk, self.output.decode()
                self.output += chunk

    def wait(self) -> int:
        rest, _ = self.process.communicate(timeout=_SECONDS)
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
        until = time.monotonic() + _SECONDS
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


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)]
)
def test_signal_while_it_builds_leaves_nothing(
    start: Callable[..., Run], number: signal.Signals, code: int
) -> None:
    run = start()
    run.read_until("starting the AWS emulator")
    time.sleep(0.3)  # the middle of a step, not its first instruction
    run.process.send_signal(number)
    assert run.wait() == code
    run.assert_nothing_is_left()
    assert b"Traceback" not in run.output


def test_kill_while_it_sends_leaves_no_process(start: Callable[..., Run], tmp_path: Path) -> None:
    (tmp_path / "my events.destination.json").write_text(
        '{"rules": [{"then": {"answer": "none"}}]}'
    )
    run = start()
    run.read_until("deploying (sam deploy)")
    time.sleep(0.3)
    run.process.kill()
    assert run.wait() == -signal.SIGKILL
    run.assert_nothing_is_left()
