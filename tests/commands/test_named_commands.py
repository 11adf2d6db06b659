"""Commands that the documents and alarms name exist, with the options that they have there."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from once.cli import OPERATE, TRY, load
from proof.definition.asl import ROOT
from proof.template import of_type
from proof.template.translated import Translated

DEPLOYED = Translated({}).resources
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def named(text: str) -> Iterator[str]:
    """Finds commands in code spans, and on indented or fenced lines of their own."""
    yield from re.findall(r"`(once [a-z][^`\n]*)`", text)
    yield from re.findall(r"^(?: {4})?(once [a-z][^#\n]*)", text, re.MULTILINE)


NAMED = sorted(
    {command.strip() for document in DOCUMENTS for command in named(document.read_text())}
    | {
        command
        for name in of_type("AWS::CloudWatch::Alarm")
        for command in re.findall(
            r" Run: (once .+) https:", DEPLOYED[name]["Properties"]["AlarmDescription"]
        )
    }
)


def test_commands_are_found() -> None:
    assert {"once status", "once parked list", "once parked replay"} <= set(NAMED)


@pytest.mark.parametrize("said", NAMED)
def test_named_command_exists(said: str) -> None:
    words = said.split()[1:]
    name = words.pop(0)
    assert name in {**TRY, **OPERATE}, f"{said}: there is no {name}"
    command: Any = load(name)
    while commands := getattr(command, "commands", None):
        assert words, f"{said}: one of {', '.join(commands)}"
        name = words.pop(0)
        assert name in commands, f"{said}: there is no {name}"
        command = commands[name]
    options = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options, said
