"""Commands without a local stack need nothing that only some machines have."""

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from once.project import EXAMPLE
from once.stack import running
from tests.commands.conftest import once

# Windows has no fcntl.
AS_ON_WINDOWS = """
import sys
sys.modules["fcntl"] = None
from once.cli import app
app(sys.argv[1:])
"""


@pytest.mark.parametrize(
    "typed",
    [("audit", str(EXAMPLE)), ("explain", "--help"), ("status", "--help"), ("check", "--help")],
    ids=" ".join,
)
def test_a_command_without_a_local_stack_needs_no_file_locks(typed: tuple[str, ...]) -> None:
    command = [sys.executable, "-c", AS_ON_WINDOWS, *typed]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert "Traceback" not in answer.stderr
    assert answer.returncode in (0, 3), answer.stderr


def test_a_folder_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise PermissionError(errno.EACCES, "Permission denied", ".once")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "private_folder", refuse)
    answer = once("up")
    assert answer.code == 1
    assert f"Cannot write {tmp_path}/.once: Permission denied." in answer.err.replace("\n", "")
