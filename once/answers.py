"""Says with which model a command answers `--json`; schemas/ makes a contract of each."""

from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel

F = TypeVar("F", bound=Callable[..., Any])


def answers(model: type[BaseModel]) -> Callable[[F], F]:
    """Marks the function of a command."""

    def mark(function: F) -> F:
        vars(function)["answers"] = model
        return function

    return mark


def model_of(command: Any) -> type[BaseModel] | None:
    """Returns the model of a command's `--json`, or None if it has none."""
    model: type[BaseModel] | None = vars(command.callback).get("answers")
    return model
