"""`once dev --forward`: a developer's own server gets each event once, and can verify it."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path

import pytest
from standardwebhooks import Webhook

from once.project import EXAMPLE
from proof.events import customer_start
from proof.terminal import hear_ctrl_c
from tests.operate.conftest import once

PATIENCE_SECONDS = 240
SECRET = "whsec_b25jZQ=="
RECEIVER = EXAMPLE.with_name("receiver.py")


@contextmanager
def started(log: Path, *command: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs Python until the block ends; what it says goes to `log`."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, *command],
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            preexec_fn=hear_ctrl_c,
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_until(is_there: Callable[[], bool], log: Path) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not is_there():
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.2)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.local
def test_the_example_server_gets_each_event_once_and_verifies_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one, other = customer_start("one"), customer_start("other")
    events = tmp_path / "events.jsonl"
    events.write_text("".join(f"{json.dumps(event)}\n" for event in (one, one, other, other)))
    said, received, port = tmp_path / "said", tmp_path / "received", free_port()
    dev = ("-m", "once.cli", "dev", "--forward", f"http://localhost:{port}", "--no-browser")
    with started(said, *dev, "--port", "0") as process:
        wait_until(lambda: "once send FILE" in said.read_text(), said)
        again = once("dev", "--no-browser")
        address = said.read_text().partition("The console is at ")[2].split()[0]
        assert (again.code, f"Its console: {address}" in again.err) == (1, True), again.err
        secret = said.read_text().partition("SIGNING_SECRET=")[2].split()[0]
        server = {"SIGNING_SECRET": secret, "PORT": str(port)}
        with started(received, str(RECEIVER), **server):
            wait_until(lambda: listens(port), received)
            assert once("send", str(events), "--wait", "--timeout", "120").code == 0
        wait_until(lambda: said.read_text().count("DUPLICATE") == 2, said)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert received.read_text().count("verified {") == 2
    assert said.read_text().count("PROCESSED") == 2


@pytest.mark.parametrize(
    ("secret", "age_seconds", "status"),
    [(SECRET, 0, 204), (SECRET, 600, 401), ("whsec_b3RoZXI=", 0, 401)],
    ids=["signed", "signed too long ago", "signed with another secret"],
)
def test_the_example_server_takes_only_what_is_signed_now(
    tmp_path: Path, secret: str, age_seconds: int, status: int
) -> None:
    log, port = tmp_path / "received", free_port()
    sent_at = datetime.now(UTC) - timedelta(seconds=age_seconds)
    headers = {
        "webhook-id": "i",
        "webhook-timestamp": str(int(sent_at.timestamp())),
        "webhook-signature": Webhook(secret).sign("i", sent_at, "{}"),
    }
    with started(log, str(RECEIVER), SIGNING_SECRET=SECRET, PORT=str(port)):
        wait_until(lambda: listens(port), log)
        client = HTTPConnection("127.0.0.1", port)
        client.request("POST", "/", "{}", headers)
        assert client.getresponse().status == status
        client.close()
