"""Wrong settings are refused before a build begins. A build is kept whole, and made again only if
its sources change."""

import os
import subprocess
import sys
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from once.errors import OnceError
from once.local import deploy

FITTED = "the template, fitted to this machine"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[[routes]]\nfamily = "*"\n', r"routes\.1\.action"),
        (None, r"no file of routes .*mine\.toml"),
    ],
)
def test_faulty_routes_are_refused_before_a_build(
    text: str | None, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deploy, "ROUTES", tmp_path / "routes.toml")
    if text is not None:
        (tmp_path / "mine.toml").write_text(text)
    aws: Any = None
    with pytest.raises(OnceError, match=says):
        deploy.deploy(aws, {"RoutesFile": "mine.toml"}, lambda _: None)


def test_template_gets_durations_for_each_of_its_own() -> None:
    fitted = deploy.fit_to_machine()
    assert fitted["Mappings"]["Durations"]["Seconds"] == deploy.DURATIONS


def test_a_build_that_finds_no_package_names_the_index(tmp_path: Path) -> None:
    log = tmp_path / "build.log"
    log.write_text(
        "Building codeuri\nBuild Failed\nError: Could not satisfy the requirement: x==1\n"
    )
    said = deploy._useful_part(log)
    assert said.startswith("Build Failed\n")
    assert "PIP_INDEX_URL" in said


class Project:
    """A template with a function, in a folder of its own, and a build that counts."""

    def __init__(self, folder: Path) -> None:
        self.template = folder / "template.yaml"
        self.function = folder / "functions" / "one" / "handler.py"
        self.function.parent.mkdir(parents=True)
        self.function.write_text("first = 1")
        (self.function.parent / "requirements.txt").write_text("")
        self.scratch = folder / "scratch"
        self.builds = 0

    def build(self, folder: Path) -> None:
        self.builds += 1
        folder.mkdir(parents=True)
        (folder / "template.yaml").write_text(self.function.read_text())

    def built(self, fitted: str = FITTED) -> Path:
        return deploy.find_build(fitted, self.scratch, self.build)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path)
    monkeypatch.setattr(deploy, "TEMPLATE", made.template)
    monkeypatch.setattr(deploy, "cache_folder", lambda: tmp_path / "cache")
    return made


def test_only_a_change_of_a_function_the_template_or_the_python_is_built(project: Project) -> None:
    folders = [project.built(), project.built(), project.built("for another Python")]
    project.function.write_text("second = 2")
    folders.append(project.built())
    texts = [(folder / "template.yaml").read_text() for folder in folders]
    assert texts == ["first = 1", "first = 1", "first = 1", "second = 2"]
    assert len(set(folders)) == project.builds == 3


def test_two_that_build_the_same_together_both_have_it_whole(project: Project) -> None:
    both = threading.Barrier(2)

    def build(folder: Path) -> None:
        folder.mkdir(parents=True)
        both.wait(60)
        (folder / "template.yaml").write_text("whole")

    def built(_: int) -> str:
        folder = deploy.find_build(FITTED, project.scratch, build)
        return (folder / "template.yaml").read_text()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(built, range(2))) == ["whole", "whole"]
    assert len(os.listdir(project.template.parent / "cache" / "builds")) == 1


def test_a_build_that_fails_leaves_nothing_to_be_taken_for_one(project: Project) -> None:
    def fail(folder: Path) -> None:
        folder.mkdir(parents=True)
        raise OnceError("sam build failed")

    with pytest.raises(OnceError):
        deploy.find_build(FITTED, project.scratch, fail)
    project.built()
    assert project.builds == 1


def test_build_that_is_unused_for_a_day_goes(project: Project) -> None:
    old = project.built()
    os.utime(old.parent, (0, 0))
    project.function.write_text("second = 2")
    project.built()
    assert not old.exists()


def test_a_cache_that_cannot_be_written_is_done_without(project: Project, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    assert project.built() == project.scratch / "build"
    assert project.builds == 1


@pytest.mark.usefixtures("project")
def test_wheels_are_found_in_a_folder_with_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip takes PIP_FIND_LINKS for a list that spaces divide."""
    monkeypatch.setattr(deploy, "cache_folder", lambda: tmp_path / "Ü ber uns" / ("x" * 120))
    settings = deploy.settings_of_pip(dict(os.environ), tmp_path / "log")
    (wheels,) = (tmp_path / "Ü ber uns").glob("*/wheels/*")
    with zipfile.ZipFile(wheels / "a_once_wheel-1.0-py3-none-any.whl", "w") as wheel:
        for name, text in (
            ("METADATA", "Metadata-Version: 2.1\nName: a-once-wheel\nVersion: 1.0"),
            ("WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any"),
            ("RECORD", ""),
        ):
            wheel.writestr(f"a_once_wheel-1.0.dist-info/{name}", text)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(tmp_path / "found")]
    subprocess.run([*pip, "a-once-wheel"], env={**os.environ, **settings}, check=True)
