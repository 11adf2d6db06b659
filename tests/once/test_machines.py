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
from once.cli import OPERATE, app, load
for name in OPERATE:
    load(name)
app(["audit", sys.argv[1]])
"""


def test_commands_without_a_local_stack_need_no_file_locks() -> None:
    command = [sys.executable, "-c", AS_ON_WINDOWS, str(EXAMPLE)]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode in (0, 3), answer.stderr
    assert answer.stdout


def test_folder_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise PermissionError(errno.EACCES, "Permission denied", ".once")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "private_folder", refuse)
    answer = once("up")
    assert answer.code == 1
    assert f"{tmp_path}/.once" in answer.err.replace("\n", "")
