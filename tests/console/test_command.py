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
from once.project import ROOT
from proof.console import Served
from proof.embedded import Embedded
from proof.terminal import hear_ctrl_c
from tests.console.conftest import ask
from tests.operate.conftest import once, up
from tests.operate.support import until


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
                stream.communicate(timeout=10)  # read to its end, or curl would wait for us
                assert stream.returncode in (0, 18)  # 18: the stream ended, as it does now
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


@pytest.mark.parametrize("ends", ["console", "person"])
def test_make_console_leaves_no_sender_behind(tmp_path: Path, ends: str) -> None:
    """However the console ends: by itself, or by the Ctrl-C that all in the terminal get."""
    pid = tmp_path / "pid"
    stays = "exec sleep 60" if ends == "person" else "exit"
    console = f"[ $1 = up ] || {{ until [ -s {pid} ]; do :; done; {stays}; }}"
    for name, line in {"python": f"echo $$ > {pid}; exec sleep 60", "once": console}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    make = ["make", "console", f"BIN={tmp_path}", "READY="]
    with subprocess.Popen(
        make,
        cwd=ROOT,
        start_new_session=True,
        stderr=subprocess.DEVNULL,
        preexec_fn=hear_ctrl_c,
    ) as run:
        until(lambda: pid.exists() and pid.read_text())
        if ends == "person":
            os.killpg(run.pid, signal.SIGINT)
        run.wait(60)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)
