"""Drives the data action function: its steps are replayed from what it has heard, so that the
position of an invocation is a value like any other."""

import random
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

Json = Any


class Step(NamedTuple):
    """A request to the table, or a sleep."""

    verb: str  # read, update, put, delete, sleep
    request: Mapping[str, Any] = {}  # noqa: RUF012 - never changed
    sleep_ms: int = 0


class Sending(NamedTuple):
    """The one request to the destination, which begins before `until_ms` or not at all."""

    until_ms: int


class Returned(NamedTuple):
    value: Json


class Raised(NamedTuple):
    error: str
    message: str


class Invocation(NamedTuple):
    name: str
    run: str  # the execution that waits for it; empty if none does
    owner: str
    by: str
    event: str
    payload: Mapping[str, Any]
    skew_ms: int
    began_ms: int
    ends_ms: int  # Lambda ends it by then
    heard: tuple[tuple[Any, int], ...] = ()  # answers, and when they came by its own clock
    sending: str = ""  # how its request will end, while one is under way


class Function(Protocol):
    """A data action function whose requests somebody else makes."""

    def reached(self, invocation: Invocation) -> Step | Sending | Returned | Raised:
        """Returns what it does next, after what it has heard."""

    def replied(self, status: str, now_ms: int) -> Json:
        """Returns what it hears of a request that ended like this."""

    def too_late(self) -> Json:
        """Returns what it hears if no request may begin any more."""

    def unanswered(self) -> Json:
        """Returns what it hears if the table does not respond."""

    def pause(self, until_ms: int, now_ms: int) -> Mapping[str, Any]:
        """Returns the update with which an operator pauses requests."""


def drawing(invocation: Invocation) -> random.Random:
    """Returns the random numbers of an invocation: the same at each replay."""
    return random.Random(f"{invocation.name} {invocation.began_ms}")  # noqa: S311
