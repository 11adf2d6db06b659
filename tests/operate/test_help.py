"""The help of `once` is quick and grouped, and has a valid example for each command."""

import os
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from once.cli import ENTRIES, commands
from proof.definition.asl import ROOT
from tests.operate.conftest import once

COMMANDS = {f"once {typed}": command for typed, command in commands()}
# These start something of their own, or need no stack.
WITHOUT_STACK = {
    *("run", "dev", "up", "down", "example", "audit"),
    "template",
    *("routes check", "routes try"),
}


@pytest.mark.parametrize("path", COMMANDS)
def test_an_example_is_shown_and_can_be_typed(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = COMMANDS[path]
    example = command.epilog.removeprefix("Example: ")
    assert example.startswith(path)
    assert path in " ".join(once(*path.split()[1:], "--help").out.split())
    (tmp_path / "trouble.json").write_text("{}")
    (tmp_path / "once").symlink_to(ROOT / "once")
    (tmp_path / "functions").symlink_to(ROOT / "functions")
    monkeypatch.chdir(tmp_path)
    typed = example.removeprefix(path).partition(">")[0]
    command.make_context(path, shlex.split(typed))


@pytest.mark.parametrize("path", COMMANDS)
def test_what_works_on_a_stack_takes_the_options_that_name_it(path: str) -> None:
    options = {name for parameter in COMMANDS[path].params for name in parameter.opts}
    named = {"--stack", "--region", "--profile"}
    assert (named <= options) == (path.removeprefix("once ") not in WITHOUT_STACK)


def test_what_a_script_may_go_by_is_told() -> None:
    said = " ".join(once("--help").out.split())
    assert "3 done, but something needs attention" in said


def test_the_commands_are_grouped_and_each_is_said_in_one_line_of_80_columns() -> None:
    said = once("--help").out
    assert said.index("Try it") < said.index("Operate a stack")
    for name, entry in ENTRIES.items():
        assert f"│ {name:12}  {entry.summary}" in said


def test_a_command_that_is_typed_wrongly_is_guessed() -> None:
    answer = once("statsu")
    assert answer.code == 2
    assert "Did you mean 'status'" in " ".join(answer.err.split())


@pytest.mark.parametrize(
    ("words", "offered"), [("once expl", "explain"), ("once run --rep", "--report")]
)
def test_a_shell_completes_commands_and_their_options(words: str, offered: str) -> None:
    last = str(len(words.split()) - 1)
    asked = {"_ONCE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": last}
    program = str(Path(sys.executable).with_name("once"))
    said = subprocess.run(program, env={**os.environ, **asked}, capture_output=True, text=True)
    assert said.stdout.split() == [offered]


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert once("--version").out == f"{project['version']}\n"


def processor_seconds(*arguments: str) -> float:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "once.cli", *arguments],
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime


def test_help_takes_less_than_a_third_of_a_second_of_processor_time() -> None:
    processor_seconds("--help")  # the first one may compile
    assert min(processor_seconds("--help") for _ in range(3)) < 0.3
