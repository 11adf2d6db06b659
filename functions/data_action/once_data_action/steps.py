"""The steps of one action: what `action.act` yields, and what its driver sends back.

The handler drives them with boto3 and a target, the simulator with a virtual table, destination
and clock. A driver throws `Unanswered` into the generator if the table did not respond, and an
`ActionError` if the request did not succeed.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Clock = Callable[[], int]
"""Returns the time in epoch milliseconds."""
Draw = Callable[[], float]
"""Returns a random number from 0 to 1."""
Json = dict[str, Any]


class Unanswered(Exception):  # noqa: N818 - it reads as what happened
    """The table did not respond: a write may have been applied, or may be applied later."""


@dataclass(frozen=True)
class Read:
    """A GetItem with these arguments. Sent back: its response."""

    request: Mapping[str, Any]


@dataclass(frozen=True)
class Write:
    """A write with these arguments. Sent back: its response; None if its condition failed."""

    verb: Literal["update_item", "delete_item"]
    request: Mapping[str, Any]


@dataclass(frozen=True)
class Send:
    """The request to the destination, which begins before this time or never.

    Sent back: a Reply. Thrown: an ActionError, whose `started_ms` is None if no request began.
    """

    until_ms: int


@dataclass(frozen=True)
class Sleep:
    """A wait for a token. Sent back: None."""

    seconds: float


@dataclass(frozen=True)
class Reply:
    """A success of the destination, and when the request for it began."""

    started_ms: int
    status: int | None = None


Step = Read | Write | Send | Sleep
Steps = Generator[Step, Any, Json]
