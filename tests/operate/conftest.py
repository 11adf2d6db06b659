"""The commands as a person types them, on the stack that the whole session shares."""

import json
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from once.cli import app
from once.operate.running import Running, kept
from proof.deployed import DeployedStack


@dataclass
class Answer:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Returns the output as JSON."""
        return json.loads(self.out)


def once(*arguments: str, says: str = "") -> Answer:
    """Runs a command; `says` is what the person types when asked."""
    result = CliRunner().invoke(app, arguments, input=says)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Answer(result.exit_code, result.stdout, result.stderr)


@contextmanager
def up(local: DeployedStack, folder: Path) -> Iterator[None]:
    """The shared stack is up in this folder, where commands are typed."""
    with chdir(folder), kept() as note:
        note(Running.here(local.stack.aws, local.destination, "once"))
        yield


@pytest.fixture
def operated(local: DeployedStack, tmp_path: Path) -> Iterator[DeployedStack]:
    """The shared stack, up in the folder of this test."""
    with up(local, tmp_path):
        yield local
