"""Commands that the program suggests mean the same when they are pasted into a shell."""

import shlex
import shutil
import sys
from pathlib import Path

import pytest
import typer

from once import project
from once.operate.command import add
from once.operate.stack import Stack
from once.operate.status import read_status
from once.project import EXAMPLE
from proof.template import TEMPLATE
from tests.operate.conftest import once
from tests.operate.deployed import NOW_MS, deployed, returned

HOSTILE = ["$(touch owned)", "a b", "it's; rm -r x", "`id`", "a, b", "plain-1", "*", "\\"]


@pytest.mark.parametrize("subject", HOSTILE)
def test_an_id_is_one_word_of_the_command(subject: str) -> None:
    event = returned("m1", "SETUP_FAULT", pk=f"organisation/conversation/{subject}")
    (finding,) = read_status(deployed(None, event), NOW_MS).findings
    assert shlex.split(finding.commands[0]) == ["once", "explain", subject]


@pytest.mark.parametrize("profile", HOSTILE)
def test_a_profile_is_one_word_of_the_command(
    profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Stack, "find", lambda *_: deployed(None))
    app, seen = typer.Typer(), list[str]()
    add(app, "look", lambda at: seen.append(at.options), "once look")
    app(["--profile", profile], standalone_mode=False)
    assert shlex.split(seen[0]) == ["--profile", profile]


def test_a_folder_with_the_program_is_one_word_of_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/a $(touch owned) b/python")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    said = project.say_how_to_type_once()
    assert shlex.split(said or "") == ["source", "/a $(touch owned) b/activate"]


def test_a_folder_is_one_word_of_the_command(tmp_path: Path) -> None:
    folder = tmp_path / "a $(touch owned) b"
    said = once("template", str(folder)).out
    words = shlex.split(said.splitlines()[-1])
    assert words[:3] == ["cd", str(folder), "&&"]
    assert words[-4:-1] == ["sam", "deploy", "--parameter-overrides"]
    named = {one.partition("=")[0] for one in words[-1].split()}
    assert {"EventSourceName", "AlarmEmail", "PythonRuntime"} <= named <= {*TEMPLATE["Parameters"]}


def test_the_example_events_are_printed_as_they_are() -> None:
    assert once("example").out == EXAMPLE.read_text("utf-8")
