"""`once console` as a person types it: its address, Ctrl-C, and what it says if it cannot start."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from once.console import command
from proof.console import Served
from proof.embedded import Embedded
from tests.console.conftest import ask
from tests.operate.conftest import once, up


@pytest.mark.embedded
def test_ctrl_c_ends_it_at_once_while_a_page_is_open(embedded: Embedded, tmp_path: Path) -> None:
    with up(embedded, tmp_path):
        process = subprocess.Popen(
            [sys.executable, "-m", "once.cli", "console", "--no-browser", "--port", "0"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert process.stdout is not None
        with process, process.stdout as said:
            found = re.search(r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)", said.readline())
            assert found is not None
            assert "End it with Ctrl-C" in said.readline()
            served = Served(found[1], found[2])
            cookie = _cookie(served)
            status, text, _ = ask(served, "/now.json", {"Cookie": cookie})
            assert (status, '"status"' in text) == (200, True)
            stream = subprocess.Popen(
                ["curl", "-sN", "-H", f"Cookie: {cookie}", f"{served.address}/stream"],
                stdout=subprocess.PIPE,
            )
            with stream:
                assert stream.stdout is not None
                assert stream.stdout.readline().startswith(b"event: ")
                started = time.monotonic()
                process.send_signal(signal.SIGINT)
                assert process.wait(10) == 0
                assert stream.wait(10) in (0, 18)  # 18: the stream ended, as it does now
            assert time.monotonic() - started < 5


def _cookie(served: Served) -> str:
    """As a browser keeps it from the address that was printed."""
    until = time.monotonic() + 20
    while True:
        try:
            status, _, headers = ask(served, f"/?token={served.token}", {})
        except OSError:
            assert time.monotonic() < until
            time.sleep(0.05)
            continue
        assert status == 303
        return headers["Set-Cookie"].partition(";")[0]


@pytest.mark.embedded
def test_without_its_libraries_it_says_how_to_install_them(
    embedded: Embedded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    with up(embedded, tmp_path):
        answer = once("console")
    assert answer.code == 1
    assert "pip install 'genesys-once[console]'" in answer.err
