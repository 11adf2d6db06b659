"""Whatever ends `once run`, nothing that it started stays behind: no process, file or open port."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from once.project import ROOT
from proof.events import customer_start
from proof.terminal import hear_ctrl_c

pytestmark = pytest.mark.local

# Seen in the output when the phase that the signal is to meet has begun.
PHASES = {
    "starting": "",
    "building": "starting the AWS emulator",
    "deploying": "building",
    "sending": "deploying",
}


class Run:
    """A `once run` whose files, and so the command lines of all it starts, lie in one folder."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.scratch = folder / "scratch"
        self.scratch.mkdir()
        events = folder / "events.jsonl"
        events.write_text(json.dumps(customer_start()) + "\n")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "once.cli", "run", str(events), *options],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(self.scratch), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=hear_ctrl_c,
        )
        self.output = b""

    def read_until(self, text: str) -> None:
        assert self.process.stdout is not None
        until = time.monotonic() + 60
        while text.encode() not in self.output:
            left = until - time.monotonic()
            assert left > 0, self.output.decode()
            if select.select([self.process.stdout], [], [], left)[0]:
                chunk = os.read(self.process.stdout.fileno(), 65536)
                assert chunk, self.output.decode()
                self.output += chunk

    def wait_until_started(self) -> None:
        until = time.monotonic() + 60
        while not self.processes():
            assert time.monotonic() < until
            time.sleep(0.05)

    def wait(self) -> int:
        said, _ = self.process.communicate(timeout=60)
        self.output += said
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
        until = time.monotonic() + 60
        while self.processes() and time.monotonic() < until:
            time.sleep(0.05)
        assert self.processes() == []
        # All command lines name the folder, that of whoever removes it after a kill as well.
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


@pytest.fixture
def unanswered(tmp_path: Path) -> None:
    """Nothing is settled, so that a signal meets a run that has work left."""
    script = tmp_path / "events.destination.json"
    script.write_text('{"rules": [{"then": {"answer": "none"}}]}')


def interrupt(run: Run, phase: str, number: signal.Signals) -> None:
    run.wait_until_started()
    run.read_until(PHASES[phase])
    # The middle of a phase, not its first instruction.
    time.sleep(0.3)
    run.process.send_signal(number)


def test_a_normal_end_leaves_nothing(start: Callable[..., Run]) -> None:
    run = start()
    run.wait_until_started()
    assert run.wait() == 0
    run.assert_nothing_is_left()


def test_a_failed_deployment_leaves_nothing_and_shows_why(start: Callable[..., Run]) -> None:
    run = start("--set", "MaxTries=0")
    run.wait_until_started()
    assert run.wait() == 1
    run.assert_nothing_is_left()
    said = run.output.decode()
    assert "sam deploy failed" in said
    assert "'MaxTries' must be a number not less than 1" in said
    assert "Traceback" not in said


def test_an_unknown_parameter_is_named_with_those_there_are(start: Callable[..., Run]) -> None:
    run = start("--set", "Timeing=fast")
    assert run.wait() == 1
    run.assert_nothing_is_left()
    assert re.search(r"no parameter Timeing\. It has .*Timing", run.output.decode(), re.DOTALL)


@pytest.mark.usefixtures("unanswered")
@pytest.mark.parametrize("phase", PHASES)
def test_ctrl_c_leaves_nothing(start: Callable[..., Run], phase: str) -> None:
    run = start()
    interrupt(run, phase, signal.SIGINT)
    assert run.wait() == 130
    run.assert_nothing_is_left()
    assert "Traceback" not in run.output.decode()
    assert run.output.decode().rstrip().endswith("Interrupted.")


@pytest.mark.usefixtures("unanswered")
@pytest.mark.parametrize("phase", ["building", "sending"])
def test_term_leaves_nothing(start: Callable[..., Run], phase: str) -> None:
    run = start()
    interrupt(run, phase, signal.SIGTERM)
    assert run.wait() == 143
    run.assert_nothing_is_left()
    assert "Traceback" not in run.output.decode()


@pytest.mark.usefixtures("unanswered")
@pytest.mark.parametrize("phase", ["deploying", "sending"])
def test_even_kill_leaves_no_process(start: Callable[..., Run], phase: str) -> None:
    run = start()
    interrupt(run, phase, signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    run.assert_nothing_is_left()
