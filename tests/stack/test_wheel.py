"""The wheel alone, in an empty environment, in a folder with a long name, spaces and umlauts."""

import json
import os
import shutil
import site
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from once.project import ROOT, cache_folder

pytestmark = pytest.mark.local

Once = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Returns `once` as the wheel installs it; the packages it needs are those of this run."""
    dist = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "-d", str(dist)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = dist.glob("*.whl")
    folder = tmp_path_factory.mktemp("home") / "Ü ber die Brücke"
    folder /= "x" * max(1, 150 - len(str(folder)))
    python = folder / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps"]
    subprocess.run([*pip, "--quiet", str(wheel)], check=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "venv" / "lib" / version / "site-packages" / "others.pth"
    packages.write_text("\n".join(site.getsitepackages()))
    if (wheels := cache_folder() / "wheels").is_dir():
        shutil.copytree(wheels, folder / ".cache" / "genesys-once" / "wheels")
    settings_of_pip = {k: v for k, v in os.environ.items() if k.startswith("PIP_")}
    environment = {**settings_of_pip, "HOME": str(folder), "PATH": os.environ["PATH"]}

    def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(python), "-m", "once.cli", *arguments],
            cwd=cwd,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )

    return run


def test_wheel_runs_an_example_and_writes_its_report(once: Once, tmp_path: Path) -> None:
    example = once("example", "call", cwd=tmp_path)
    (tmp_path / "call.jsonl").write_text(example.stdout)
    options = ("--set", "RoutesFile=calls.toml", "--report", "report.json")
    done = once("run", "call.jsonl", *options, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["outcomes"] == {"PROCESSED": 10, "DUPLICATE": 20}


def test_wheel_writes_what_is_deployed_into_a_new_folder(once: Once, tmp_path: Path) -> None:
    assert once("template", "written", cwd=tmp_path).returncode == 0
    for name in ("template.yaml", "statemachine/once.asl.yaml", "functions/enrichment/routes.toml"):
        assert (tmp_path / "written" / name).read_bytes() == (ROOT / name).read_bytes()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "template.yaml").write_text("mine")
    assert once("template", "mine", cwd=tmp_path).returncode == 1
    assert (tmp_path / "mine" / "template.yaml").read_text() == "mine"
