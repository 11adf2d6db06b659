"""The commands as a person types them, on the stack that the whole session shares."""

import json
import os
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from once.cli import app
from once.operate.running import Running, kept
from proof.embedded import Embedded


@dataclass
class Answer:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def once(*arguments: str, says: str = "") -> Answer:
    """Runs a command; `says` is what the person types when asked."""
    result = CliRunner().invoke(app, arguments, input=says)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Answer(result.exit_code, result.stdout, result.stderr)


@contextmanager
def up(embedded: Embedded, folder: Path) -> Iterator[None]:
    """The shared stack is up in this folder, where commands are typed."""
    with chdir(folder), kept() as note:
        note(
            Running(
                pid=os.getpid(),
                endpoint=embedded.stack.aws.endpoint,
                stack="once",
                genesys=embedded.destination.url,
            )
        )
        yield


@pytest.fixture
def operated(embedded: Embedded, tmp_path: Path) -> Iterator[Embedded]:
    """The shared stack, up in the folder of this test."""
    with up(embedded, tmp_path):
        yield embedded
