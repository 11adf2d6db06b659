"""A build is kept whole, and made again only if its sources change."""

import os
import subprocess
import sys
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from once.errors import OnceError
from once.local import builds


class Project:
    """A template with a function, in a folder of its own, and a build that counts."""

    def __init__(self, folder: Path) -> None:
        self.template = folder / "template.yaml"
        self.template.write_text("Resources: {}")
        self.function = folder / "functions" / "one" / "handler.py"
        self.function.parent.mkdir(parents=True)
        self.function.write_text("first = 1")
        self.scratch = folder / "scratch"
        self.builds = 0

    def build(self, folder: Path) -> None:
        self.builds += 1
        folder.mkdir(parents=True)
        (folder / "template.yaml").write_text(self.function.read_text())

    def built(self, fitted: str | None = None) -> Path:
        fitted = fitted or self.template.read_text()
        return builds.built(self.template, fitted, self.scratch, self.build)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path)
    monkeypatch.setattr(builds, "TEMPLATE", made.template)
    monkeypatch.setattr(builds, "cache_folder", lambda: tmp_path / "cache")
    return made


def test_the_second_time_nothing_is_built(project: Project) -> None:
    assert project.built() == project.built()
    assert (project.builds, (project.built() / "template.yaml").read_text()) == (1, "first = 1")


def test_a_change_of_a_function_the_template_or_the_python_is_built(project: Project) -> None:
    folders = [project.built(), project.built("for another Python")]
    project.function.write_text("second = 2")
    folders.append(project.built())
    assert (folders[-1] / "template.yaml").read_text() == "second = 2"
    project.template.write_text("Resources: { One: {} }")
    folders.append(project.built())
    assert len(set(folders)) == project.builds == 4


def test_two_that_build_the_same_at_once_both_have_it_whole(project: Project) -> None:
    both = threading.Barrier(2)

    def build(folder: Path) -> None:
        folder.mkdir(parents=True)
        both.wait(60)
        (folder / "template.yaml").write_text("whole")

    def built(_: int) -> str:
        folder = builds.built(project.template, "{}", project.scratch, build)
        return (folder / "template.yaml").read_text()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(built, range(2))) == ["whole", "whole"]
    assert len(os.listdir(project.template.parent / "cache" / "builds")) == 1


def test_a_build_that_fails_leaves_nothing_to_be_taken_for_one(project: Project) -> None:
    def fail(folder: Path) -> None:
        folder.mkdir(parents=True)
        raise OnceError("sam build failed")

    with pytest.raises(OnceError):
        builds.built(project.template, "{}", project.scratch, fail)
    project.built()
    assert project.builds == 1


def test_build_that_is_unused_for_a_day_goes(project: Project) -> None:
    old = project.built()
    os.utime(old.parent, (0, 0))
    project.function.write_text("second = 2")
    project.built()
    assert not old.exists()


@pytest.mark.usefixtures("project")
def test_another_template_is_built_where_its_stack_is(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Project(tmp_path / "other")
    assert other.built() == other.scratch / "build"


def test_a_cache_that_cannot_be_written_is_done_without(project: Project, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("no folder")
    assert project.built() == project.scratch / "build"
    assert project.builds == 1


def test_wheels_are_found_in_a_folder_with_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip takes PIP_FIND_LINKS for a list that spaces divide."""
    monkeypatch.setattr(builds, "cache_folder", lambda: tmp_path / "Ü ber uns" / ("x" * 120))
    requirements = tmp_path / "project" / "functions" / "one" / "requirements.txt"
    requirements.parent.mkdir(parents=True)
    requirements.write_text("")
    settings = builds.settings_of_pip(tmp_path / "project", dict(os.environ), tmp_path / "log")
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
