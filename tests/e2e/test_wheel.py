"""The wheel alone, in an empty environment and an empty folder: what a new user has."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urljoin, urlsplit
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from once.local.aws import Emulator
from once.local.deploy import deploy
from once.project import ROOT
from proof.events import customer_start
from tests.e2e.test_story import check_one_by_one
from tests.operate.support import until

pytestmark = pytest.mark.local

Once = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def installed(what: str, folder: Path) -> Once:
    """`once` of a fresh environment, with nothing of ours or of this one around it."""
    python = folder / "venv" / "bin" / "python"
    # With their hashes the constraints would ask for the hash of the wheel as well.
    pins = re.findall(r"^[a-z].*?(?= \\$)", (ROOT / "requirements.lock").read_text(), re.M)
    (folder / "pins.txt").write_text("\n".join(pins))
    options = ["--quiet", "--no-compile", "-c", str(folder / "pins.txt")]
    venv = ["venv", "--without-pip", str(folder / "venv")]
    pip = ["pip", "--python", str(python), "install", *options, what]
    subprocess.run([sys.executable, "-m", *venv], check=True)
    done = subprocess.run([sys.executable, "-m", *pip], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    settings_of_pip = {k: v for k, v in os.environ.items() if k.startswith("PIP_")}
    environment = {**settings_of_pip, "HOME": str(folder), "PATH": os.defpath}

    def once(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(python.with_name("once")), *arguments],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return once


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Once:
    return installed(str(wheel), tmp_path_factory.mktemp("bare"))


@pytest.fixture(scope="module")
def local(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Once:
    return installed(f"{wheel}[local]", tmp_path_factory.mktemp("local"))


@pytest.fixture(scope="module")
def page(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    installed(f"{wheel}[console]", folder)
    return folder / "venv" / "bin" / "once"


@pytest.fixture(scope="module")
def up(local: Once, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yields the folder in which a stack is up."""
    folder = tmp_path_factory.mktemp("up")
    started = local("up", cwd=folder)
    assert started.returncode == 0, started.stdout + started.stderr
    yield folder
    local("down", cwd=folder)


def test_the_story_runs_one_by_one_with_the_wheel_alone(local: Once, tmp_path: Path) -> None:
    done = local("run", "--report", "report.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads((tmp_path / "report.json").read_text())
    check_one_by_one(report)
    assert os.listdir(tmp_path) == ["report.json"]


def test_without_the_extra_run_says_how_to_install_it(bare: Once, tmp_path: Path) -> None:
    done = bare("run", cwd=tmp_path)
    assert done.returncode == 1
    assert "needs ministack and aws-sam-cli" in done.stderr
    assert "uv tool install --python 3.13 'genesys-once[local] @ git+" in done.stderr


def test_explain_needs_neither_the_sam_cli_nor_the_emulator(bare: Once, up: Path) -> None:
    (up / "events.jsonl").write_text(json.dumps(customer_start("a-conversation")))
    sent = bare("send", "events.jsonl", cwd=up)
    assert sent.returncode == 0, sent.stderr
    until(lambda: "acted on" in bare("explain", "a-conversation", cwd=up).stdout)


def test_the_console_serves_its_page_with_its_extra_alone(page: Path, up: Path) -> None:
    command = [str(page), "console", "--stack", "local", "--no-browser", "--port", "0"]
    at_once = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, cwd=up, stdout=subprocess.PIPE, text=True, env=at_once
    ) as console:
        try:
            assert console.stdout is not None
            address = console.stdout.readline().split()[-1]
            until(lambda: listens(urlsplit(address).port))
            browser = build_opener(HTTPCookieProcessor())
            text = browser.open(address).read().decode()
            style = re.search(r'href="([^"]+\.css[^"]*)"', text)
            assert style, text
            assert browser.open(urljoin(address, style[1])).status == 200
        finally:
            console.terminate()


def listens(port: int | None) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port or 0)) == 0


def test_what_needs_no_stack_works_without_the_extra(bare: Once, tmp_path: Path) -> None:
    done = bare("routes", "check", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_folder_that_template_writes_can_be_deployed(bare: Once, tmp_path: Path) -> None:
    assert bare("template", "written", cwd=tmp_path).returncode == 0
    with Emulator.start() as aws:
        outputs = deploy(aws, tmp_path / "written" / "template.yaml", {}).outputs
    assert {"EventQueueUrl", "StateMachineArn"} <= outputs.keys()


def test_template_leaves_a_folder_with_files_alone(bare: Once, tmp_path: Path) -> None:
    (tmp_path / "template.yaml").write_text("mine")
    done = bare("template", ".", cwd=tmp_path)
    assert done.returncode == 1
    assert "Name a new folder." in done.stderr
    assert (tmp_path / "template.yaml").read_text() == "mine"
