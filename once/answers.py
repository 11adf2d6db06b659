"""Marks the functions of commands: how each is typed, and with which model it answers `--json`, of
which schemas/ makes a contract."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import typer

if TYPE_CHECKING:
    from pydantic import BaseModel

F = TypeVar("F", bound=Callable[..., Any])


def answers(model: "type[BaseModel]") -> Callable[[F], F]:
    """Marks the function of a command."""

    def mark(function: F) -> F:
        vars(function)["answers"] = model
        return function

    return mark


def command(example: str) -> Callable[[F], F]:
    """Marks a function with what adds it to an app: `add(app, name)`."""

    def mark(function: F) -> F:
        def add(app: typer.Typer, name: str) -> None:
            app.command(name, epilog=f"Example: {example}")(function)

        vars(function)["add"] = add
        return function

    return mark


def model_of(command: Any) -> "type[BaseModel] | None":
    """Returns the model of a command's `--json`, or None if it has none."""
    model: type[BaseModel] | None = vars(command.callback).get("answers")
    return model
