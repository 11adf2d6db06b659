"""Each command's help ends with an example, and the command takes it."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from once.cli import app
from proof.definition.asl import ROOT
from tests.operate.conftest import once


def leaves(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    commands = getattr(command, "commands", None)
    if commands is None:
        yield path, command
        return
    for name, one in commands.items():
        yield from leaves(one, f"{path} {name}")


COMMANDS = dict(leaves(typer.main.get_command(app), "once"))
# These start something of their own, or need no stack.
WITHOUT_STACK = {"run", "up", "down", "genesys", "normalise", "cost", "capacity", "mapping check"}


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
    named = {"--stack", "--region", "--profile", "--json"}
    assert (named <= options) == (path.removeprefix("once ") not in WITHOUT_STACK)


def test_what_a_script_may_go_by_is_told() -> None:
    said = " ".join(once("--help").out.split())
    assert "3 it was done and something wants attention" in said
