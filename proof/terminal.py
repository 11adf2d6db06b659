"""Runs commands as a user does in a terminal."""

import json
import os
import select
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import Any

from click.testing import CliRunner

from once.cli import app

SECONDS = 240.0
"""The longest that a test waits for a command."""


@dataclass
class Answer:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def once(*arguments: str, says: str = "") -> Answer:
    """Runs a command; `says` is what the person types when asked."""
    result = CliRunner(mix_stderr=False).invoke(app, arguments, input=says)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Answer(result.exit_code, result.stdout, result.stderr)


def read_until(process: subprocess.Popen[bytes], output: bytearray, text: str) -> None:
    """Adds to the output of a process that goes on, until it has this text."""
    assert process.stdout is not None
    until = time.monotonic() + SECONDS
    while text.encode() not in output:
        left = until - time.monotonic()
        assert left > 0, output.decode()
        if select.select([process.stdout], [], [], left)[0]:
            chunk = os.read(process.stdout.fileno(), 65536)
            assert chunk, output.decode()
            output += chunk


def hear_ctrl_c() -> None:
    """Restores Ctrl-C, as a `preexec_fn`: a shell's background jobs ignore it, and so do their
    children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
