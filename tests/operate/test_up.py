"""A stack that stays up between commands, and a night on it: all that gets stuck is put right."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from once.operate import running
from once.operate.running import Running, kept
from once.operate.stack import Stack
from once.project import ROOT
from proof.events import customer_start
from tests.operate.conftest import once
from tests.operate.support import until, verdict

pytestmark = pytest.mark.embedded


def typed(*arguments: str) -> subprocess.CompletedProcess[str]:
    """As a command of its own: the stack is to outlive it."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "once.cli", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def alive(pid: int) -> bool:
    listed = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return bool(listed.stdout.strip()) and not listed.stdout.startswith("Z")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    typed("down")


def events(path: Path, *bodies: str | dict[str, Any]) -> str:
    lines = [body if isinstance(body, str) else json.dumps(body) for body in bodies]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def script(folder: Path) -> Path:
    path = folder / "destination.json"
    rules = [{"match": {"conversationId": "refused"}, "replies": [422]}]
    path.write_text(json.dumps({"rules": rules}))
    return path


def test_a_night_after_which_nothing_is_stuck(folder: Path, script: Path) -> None:
    up = typed("up", "--destination", str(script))
    assert up.returncode == 0, up.stdout + up.stderr
    again = typed("up")
    assert (again.returncode, "up already" in again.stderr) == (1, True)
    assert once("status").code == 0

    sent = once(
        "send",
        events(folder / "e.jsonl", customer_start("refused"), "poison", customer_start("ok")),
    )
    assert (sent.code, "3 events sent" in sent.out) == (0, True)
    assert "Not JSON, so they will be parked: 1." in sent.out
    until(lambda: verdict("ok") == "acted once")
    until(lambda: (verdict("refused") or "").startswith("parked: the destination refused it"))
    _bury(customer_start("buried"))
    once("hold", "--yes")

    found = once("status")
    assert found.code == 3
    for command in ("once resume", "once parked list", "once dead-letters list"):
        assert command in found.out
    assert once("resume").code == 0
    assert once("parked", "replay", "refused", "--yes").code == 0
    until(lambda: verdict("refused") == "acted once")
    assert once("dead-letters", "replay", "--yes").code == 0
    until(lambda: verdict("buried") == "acted once")
    assert once("parked", "drop", "--reason", "NOT_JSON", "--yes").code == 0
    quiet = until(lambda: (now := once("status")).code == 0 and now)
    assert "Nothing is stuck." in quiet.out

    process = running.find()
    assert process is not None
    down = typed("down")
    assert (down.returncode, "is down" in down.stdout) == (0, True)
    until(lambda: not alive(process.pid))
    assert running.find() is None
    assert typed("down").returncode == 0
    refused = once("status", "--stack", "embedded")
    assert (refused.code, "once up" in refused.err) == (1, True)


def _bury(event: dict[str, Any]) -> None:
    stack = Stack.find(None, None, None)
    stack.client("sqs").send_message(
        QueueUrl=stack.outputs["EventDeadLettersUrl"], MessageBody=json.dumps(event)
    )


def test_an_up_process_that_was_killed_takes_its_stack_along(folder: Path) -> None:  # noqa: ARG001
    assert typed("up").returncode == 0
    found = running.find()
    assert found is not None
    os.kill(found.pid, signal.SIGKILL)
    until(lambda: running.find() is None)
    answer = typed("down")
    assert (answer.returncode, "No embedded stack is up" in answer.stdout) == (0, True)


def test_a_stack_that_cannot_be_deployed_says_why(folder: Path) -> None:  # noqa: ARG001
    answer = typed("up", "--set", "NoSuchParameter=1")
    assert answer.returncode == 1
    assert "no parameter NoSuchParameter" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert running.find() is None


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Running | None]:
    monkeypatch.chdir(tmp_path)
    return running.find


def test_a_note_counts_only_while_its_process_lives(
    noted: Callable[[], Running | None],
) -> None:
    mine = Running(pid=1, endpoint="http://127.0.0.1:1", stack="once", genesys="")
    with kept() as note:
        assert noted() is None, "it is only starting"
        note(mine)
        assert noted() == mine
        left = (running.FOLDER / "stack.json").read_text()
    assert noted() is None
    (running.FOLDER / "stack.json").write_text(left)
    assert noted() is None, "its process died and could not clean up"
