"""Every command that the documents and alarms name is there, with the options they give it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from once.cli import ENTRIES, load
from proof.definition.asl import ROOT
from proof.template import of_type

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def named(text: str) -> Iterator[str]:
    """Commands in code spans, on lines of their own that are indented or fenced."""
    yield from re.findall(r"`(once [a-z][^`\n]*)`", text)
    yield from re.findall(r"^(?: {4})?(once [a-z][^#\n]*)", text, re.MULTILINE)


NAMED = sorted(
    {command.strip() for document in DOCUMENTS for command in named(document.read_text())}
    | {
        command
        for alarm in of_type("AWS::CloudWatch::Alarm").values()
        for command in re.findall(
            r": (once [a-z][a-z -]*)\.", alarm["Properties"]["AlarmDescription"]
        )
    }
)


def test_there_are_commands_to_look_for() -> None:
    assert {"once status", "once parked list", "once dead-letters replay"} <= set(NAMED)


@pytest.mark.parametrize("said", NAMED)
def test_a_command_that_is_named_exists(said: str) -> None:
    words = said.split()[1:]
    name = words.pop(0)
    assert name in ENTRIES, f"{said}: there is no {name}"
    command: Any = load(name)
    while commands := getattr(command, "commands", None):
        assert words, f"{said}: one of {', '.join(commands)}"
        name = words.pop(0)
        assert name in commands, f"{said}: there is no {name}"
        command = commands[name]
    options = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options, said
