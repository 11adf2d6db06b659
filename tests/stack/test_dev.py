"""`once dev` sends events to a server of one's own, names the fault if none listens, and ends with
Ctrl-C."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from once.project import EXAMPLE
from proof.terminal import SECONDS, hear_ctrl_c, read_until

pytestmark = pytest.mark.local


def test_event_waits_for_a_server_and_is_verified_by_it(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}/events"
    once = [sys.executable, "-u", "-m", "once.cli"]
    (tmp_path / "one.jsonl").write_text(EXAMPLE.read_text("utf-8").splitlines()[0])
    output = bytearray()
    with subprocess.Popen(
        [*once, "dev", "--forward", url, "--no-browser", "--port", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=hear_ctrl_c,
    ) as dev:
        try:
            read_until(dev, output, "Ctrl-C")
            secret = output.partition(b"SIGNING_SECRET=")[2].split()[0].decode()
            subprocess.run([*once, "send", "one.jsonl"], cwd=tmp_path, check=True)
            read_until(dev, output, "RETRY")
            read_until(dev, output, "connection refused")
            status = subprocess.run([*once, "status"], cwd=tmp_path, capture_output=True)
            assert b"connection refused" in status.stdout
            env = subprocess.run([*once, "up", "--env"], cwd=tmp_path, capture_output=True)
            assert b"export AWS_ENDPOINT_URL=http://127.0.0.1:" in env.stdout
            down = [*once, "destination", "down"]
            refused = subprocess.run(down, cwd=tmp_path, capture_output=True, text=True)
            assert refused.returncode == 1
            assert url.removesuffix("/events") in refused.stderr  # which it cannot make fail
            receiver = subprocess.Popen(
                [sys.executable, str(EXAMPLE.with_name("receiver.py"))],
                env={**os.environ, "SIGNING_SECRET": secret, "PORT": str(port)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                read_until(dev, output, "PROCESSED")
            finally:
                receiver.kill()
                receiver.wait()
            assert url.encode() in output.partition(b"PROCESSED")[2]
        finally:
            dev.send_signal(signal.SIGINT)
        assert dev.wait(SECONDS) == 0, output.decode()
    assert not (tmp_path / ".once" / "stack.json").exists()
