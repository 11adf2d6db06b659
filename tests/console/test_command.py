"""`once console` as a person types it: its address, Ctrl-C, and what it says if it cannot start."""

import os
import re
import signal
import stat
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
from playwright.sync_api import Browser

from once.console import command
from proof.console import Served
from proof.deployed import DeployedStack
from tests.console.conftest import ask
from tests.operate.conftest import once, up
from tests.operate.support import until


@pytest.mark.local
def test_ctrl_c_ends_it_at_once_while_a_page_is_open(local: DeployedStack, tmp_path: Path) -> None:
    with up(local, tmp_path):
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
            page = HTTPConnection(found[1].removeprefix("http://"))
            page.request("GET", "/rows", headers={"Cookie": cookie})
            assert page.getresponse().status == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
            page.close()


@pytest.mark.local
def test_the_browser_gets_the_token_by_a_private_file(
    local: DeployedStack, tmp_path: Path, browser: Browser
) -> None:
    arguments = tmp_path / "arguments"
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\necho "$@" > {arguments}\n')
    program.chmod(0o755)
    with up(local, tmp_path):
        console = subprocess.Popen(
            [sys.executable, "-m", "once.cli", "console", "--port", "0"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "BROWSER": f"{program} %s"},
        )
        assert console.stdout is not None
        with console, console.stdout as said:
            found = re.search(r"(http://127\.0\.0\.1:\d+/)\?token=(\S+)", said.readline())
            assert found is not None
            until(lambda: arguments.exists() and arguments.read_text())
            address = arguments.read_text().strip()
            assert found[2] not in address
            file = Path(url2pathname(urlsplit(address).path))
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            context = browser.new_context()
            page = context.new_page()
            page.goto(address)
            page.wait_for_url(found[1])
            context.close()
            console.send_signal(signal.SIGINT)
            assert console.wait(30) == 0
    assert not file.exists()


def _cookie(served: Served) -> str:
    """Returns the cookie that a browser gets from the printed address."""
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


@pytest.mark.local
def test_without_its_libraries_it_says_how_to_install_them(
    local: DeployedStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    with up(local, tmp_path):
        answer = once("console")
    assert answer.code == 1
    assert "Get it with:\nmake setup" in answer.err
