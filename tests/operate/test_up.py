"""A stack that stays up between commands, and a night on it: all that gets stuck is put right."""

import json
import os
import signal
import subprocess
import sys
import time
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

pytestmark = pytest.mark.local


ONCE = (sys.executable, "-P", "-m", "once.cli")
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def run_once(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a command as a process of its own, which the stack outlives."""
    return subprocess.run(
        [*ONCE, *arguments], capture_output=True, text=True, timeout=120, env=ENVIRONMENT
    )


def alive(pid: int) -> bool:
    listed = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return bool(listed.stdout.strip()) and not listed.stdout.startswith("Z")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    once("down")


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
    up = run_once("up", "--destination", str(script))
    assert up.returncode == 0, up.stdout + up.stderr
    again = once("up")
    assert (again.code, "up already" in again.err) == (1, True)
    assert once("status").code == 0

    sent = once(
        "send",
        events(folder / "e.jsonl", customer_start("refused"), "poison", customer_start("ok")),
    )
    assert (sent.code, "3 messages sent" in sent.out) == (0, True)
    assert "Without an event, so parked: 1 message." in sent.out
    until(lambda: verdict("ok") == "acted on", every=1)
    until(
        lambda: (verdict("refused") or "").startswith(
            "parked: the destination permanently rejected it"
        ),
        every=1,
    )
    _bury(customer_start("buried"))
    once("pause", "--yes")

    found = once("status")
    assert found.code == 3
    for command in ("once resume", "once parked list", "once dead-letters list"):
        assert command in found.out
    assert once("resume", "--yes").code == 0
    assert once("parked", "replay", "refused", "--yes").code == 0
    until(lambda: verdict("refused") == "acted on", every=1)
    assert once("dead-letters", "replay", "--yes").code == 0
    until(lambda: verdict("buried") == "acted on", every=1)
    assert once("parked", "drop", "--reason", "NOT_JSON", "--yes").code == 0
    quiet = until(lambda: (now := once("status")).code == 0 and now, every=1)
    assert "Nothing is stuck." in quiet.out

    process = running.find()
    assert process is not None
    down = run_once("down")
    assert (down.returncode, "is down" in down.stdout) == (0, True)
    until(lambda: not alive(process.pid))
    assert running.find() is None
    assert once("down").code == 0
    refused = once("status", "--stack", "local")
    assert (refused.code, "once up" in refused.err) == (1, True)


def _bury(event: dict[str, Any]) -> None:
    stack = Stack.find(None, None, None)
    stack.client("sqs").send_message(
        QueueUrl=stack.outputs["EventDeadLettersUrl"], MessageBody=json.dumps(event)
    )


def test_an_up_process_that_was_killed_takes_its_stack_along(folder: Path) -> None:  # noqa: ARG001
    assert run_once("up").returncode == 0
    found = running.find()
    assert found is not None
    os.kill(found.pid, signal.SIGKILL)
    until(lambda: running.find() is None)
    answer = once("down")
    assert (answer.code, "No local stack is up" in answer.out) == (0, True)


def test_a_stack_that_cannot_be_deployed_says_why(folder: Path) -> None:  # noqa: ARG001
    answer = run_once("up", "--set", "NoSuchParameter=1")
    assert answer.returncode == 1
    assert "no parameter NoSuchParameter" in answer.stderr
    assert "Traceback" not in answer.stderr
    assert running.find() is None


def test_a_secret_parameter_is_in_no_argument(folder: Path) -> None:
    (folder / "url.txt").write_text("https://hooks.example/secret\n")
    command = [*ONCE, "up", "--set", "ActionTarget=webhook", "--set", "WebhookUrl=file://url.txt"]
    process = subprocess.Popen(command, env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    seen = set()
    while process.poll() is None:
        seen |= arguments()
        time.sleep(0.05)
    assert process.returncode == 0
    parameters = Stack.find(None, None, None).parameters
    assert parameters["WebhookUrl"] == "https://hooks.example/secret"
    for program in ("once.run.up", "samcli deploy"):
        assert any(program in one for one in seen), program
    assert not [one for one in seen if "hooks.example" in one]


def arguments() -> set[str]:
    """Lists the arguments of each process, as any user may."""
    listed = subprocess.run(["ps", "-axww", "-o", "args="], capture_output=True, text=True)
    return set(listed.stdout.splitlines())


@pytest.mark.parametrize("planted", [".once", ".once/up.log", ".once/stack.json"])
def test_a_planted_link_is_not_followed(folder: Path, planted: str) -> None:
    precious = folder / "precious"
    if planted == ".once":
        precious.mkdir()
    else:
        (folder / ".once").mkdir()
        precious.write_text("precious")
    (folder / planted).symlink_to(precious)
    answer = once("up")
    assert (answer.code, "is a link" in answer.err) == (1, True), answer.err
    assert (
        list(precious.iterdir()) == [] if precious.is_dir() else precious.read_text() == "precious"
    )


ANY = Running(
    pid=1,
    endpoint="http://127.0.0.1:1",
    key="k",
    region="",
    account="",
    stack="once",
    genesys="",
    genesys_key="k",
)


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Running | None]:
    monkeypatch.chdir(tmp_path)
    return running.find


def test_a_note_counts_only_while_its_process_lives(
    noted: Callable[[], Running | None],
) -> None:
    with kept() as note:
        assert noted() is None, "it is only starting"
        note(ANY)
        assert noted() == ANY
        left = (running.FOLDER / "stack.json").read_text()
    assert noted() is None
    (running.FOLDER / "stack.json").write_text(left)
    assert noted() is None, "its process died and could not clean up"


def test_a_folder_linked_to_a_stack_elsewhere_has_none(tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    linked.symlink_to(tmp_path / "own")
    with kept(tmp_path / "own") as note:
        note(ANY)
        assert running.find(tmp_path / "own") is not None
        assert running.find(linked) is None
