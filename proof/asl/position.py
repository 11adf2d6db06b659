"""The position of an execution, as immutable values."""

from dataclasses import dataclass, field
from typing import Any

from proof.asl.errors import Failure

Json = Any


@dataclass(frozen=True)
class Execution:
    """The part of an execution that never changes."""

    id: str
    input: Json
    started_ms: int = 0

    @property
    def name(self) -> str:
        """The id of an Express execution ends in its name and a UUID, of a Standard one in its
        name (input-output-contextobject.html)."""
        parts = self.id.split(":")
        return parts[-2] if "express" in parts else parts[-1]


@dataclass(frozen=True)
class Scope:
    """The state that an execution is in, and its variables."""

    state: str
    input: Json
    variables: dict[str, Json] = field(default_factory=dict)
    entered_ms: int = 0
    tried_ms: int = 0
    """The time at which this try of a task began."""
    tries: tuple[int, ...] = ()
    """The uses of each retrier of this state."""
    wakes_ms: int | None = None
    """The end of a Wait, or of the delay before a retry."""


@dataclass(frozen=True)
class Position:
    """An execution that stands before a task, or sleeps."""

    execution: Execution
    top: Scope


@dataclass(frozen=True)
class Ended:
    """An execution that is over, with its output or its failure."""

    output: Json = None
    failure: Failure | None = None
