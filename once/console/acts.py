"""The commands' own acts, asked and answered by the page instead of by the terminal."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import typer
from pydantic import BaseModel
from rich.console import Console, RenderableType
from rich.text import Text

from once.operate.command import Operation
from once.operate.stack import Stack
from once.screen import showable


class Question(Exception):  # noqa: N818 - it is an answer, and no error
    """The question that a command asks before it acts."""

    def __init__(self, question: str, facts: Iterable[str]) -> None:
        super().__init__(question)
        self.question = question
        self.facts = [_plain(fact) for fact in facts]


@dataclass
class PageOperation(Operation):
    """Asks by raising the question, and keeps the answer."""

    answered: Any = None
    said: list[str] = field(default_factory=list)

    def confirm(self, question: str, yes: bool, facts: Iterable[str] = ()) -> None:
        if not yes:
            raise Question(question, facts)

    def answer(self, answer: BaseModel, view: Iterable[RenderableType]) -> None:
        self.answered = answer
        self.said = [_plain(part) for part in view if isinstance(part, str)]


def ask(stack: Stack, command: Callable[..., None], **given: Any) -> PageOperation:
    """Runs a command as if it were typed; what it answers is in `answered` and `said`."""
    quiet = Console(quiet=True)
    at = PageOperation(stack, as_json=False, console=quiet, errors=quiet)
    with suppress(typer.Exit):  # something wants attention, and `said` says what
        command(at, **given)
    return at


def _plain(text: str) -> str:
    return showable(Text.from_markup(text).plain)
