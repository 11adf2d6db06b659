"""Ctrl-C in a terminal in which `make prove` runs: nothing is left behind."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen

import pytest

from proof.definition.asl import ROOT
from proof.terminal import hear_ctrl_c

pytestmark = pytest.mark.local
PATIENCE_SECONDS = 300


def has_created_a_bucket(folder: Path) -> bool:
    ledgers = (folder / ".once" / "prove").glob("*.ledger")
    lines = [line for path in ledgers for line in path.read_text("utf-8").splitlines() if line]
    return any(json.loads(line).get("creating", [""])[0] == "bucket" for line in lines)


def is_creating_its_stack(folder: Path) -> bool:
    logs = (folder / "tmp").glob("once-*/sam/deploy.log")
    return any("CREATE_IN_PROGRESS" in log.read_text("utf-8", errors="replace") for log in logs)


@pytest.mark.parametrize(
    ("options", "moment"),
    [([], has_created_a_bucket), (["--deploy"], is_creating_its_stack)],
    ids=["while it asks", "while it deploys"],
)
def test_ctrl_c_leaves_nothing(
    tmp_path: Path, options: list[str], moment: Callable[[Path], bool]
) -> None:
    (tmp_path / "tmp").mkdir()
    process = Popen(
        [sys.executable, "-m", "proof.prove", "--local", *options],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp"), "PYTHONPATH": str(ROOT)},
        stdout=PIPE,
        stderr=STDOUT,
        text=True,
        start_new_session=True,  # so that the signal reaches all that a terminal would send it to
        preexec_fn=hear_ctrl_c,
    )
    try:
        until = time.monotonic() + PATIENCE_SECONDS
        while not moment(tmp_path):
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < until
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130, said
    assert "interrupted" in said
    assert list((tmp_path / ".once" / "prove").iterdir()) == []
    assert list((tmp_path / "tmp").iterdir()) == []  # the emulator is gone with all it held
