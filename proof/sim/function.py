"""Drives the data action function: its steps are replayed from what it has heard, so that the
position of an invocation is a value like any other."""

import copy
import random
from collections.abc import Mapping
from typing import Any, NamedTuple

from once_data_action import breaker
from once_data_action.action import Memory, Read, Reply, Rules, Send, Sleep, Write, act
from once_data_action.breaker import Limiter
from once_data_action.errors import (
    ActionError,
    Failed,
    NotAuthorised,
    NotNow,
    RateLimited,
    Rejected,
    Uncertain,
    Verdict,
)
from once_data_action.request import ActionRequest

Json = Any
FUNCTION_MS = 13_000
REQUEST_MS = 8_000
# As in the handler: time for a note and for the response.
_ANSWER_MARGIN_MS = 1_000


_ERRORS: Mapping[str, ActionError] = {
    "429": RateLimited("429", status=429, retry_after_seconds=20),
    "429 forever": RateLimited("429", status=429, retry_after_seconds=86_400),
    "401": NotAuthorised("401", status=401, for_all=True),
    "422": Rejected("422", status=422),
    "uncertain": Uncertain("the destination began to act"),
    "500": Failed("500", status=500),
    "silent": Failed("no response"),
}
TOO_LATE = NotNow("no time was left")


class Step(NamedTuple):
    """A request to the table, or a sleep."""

    verb: str  # read, update, put, delete, sleep
    request: Mapping[str, Any] = {}
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
    memory: Memory  # of its environment, when it began
    heard: tuple[tuple[Any, int], ...] = ()  # answers, and when they came by its own clock
    sending: str = ""  # how its request will end, while one is under way
    sent_ms: int = 0  # when its request began, by its own clock


class Function:
    """The deployed code of the function, with somebody else's table, destination and clock."""

    def __init__(self, per_minute: int = 0, most_tries: int = 3) -> None:
        limiter = Limiter(per_minute) if per_minute else None
        self.rules = Rules("webhook", "claims", limiter, most_tries)

    def reached(self, invocation: Invocation) -> tuple[Step | Sending | Returned | Raised, Memory]:
        """Returns what it does next after what it has heard, and what its environment remembers."""
        clock_ms = invocation.began_ms + invocation.skew_ms
        memory = copy.copy(invocation.memory)
        try:
            request = ActionRequest.read(invocation.payload)
        except ActionError as error:
            return _raised(error.verdict()), memory
        draw = random.Random(f"{invocation.name} {clock_ms}").random  # noqa: S311 - no secret
        until_ms = clock_ms + FUNCTION_MS - _ANSWER_MARGIN_MS - REQUEST_MS
        steps = act(request, self.rules, memory, until_ms, lambda: clock_ms, draw)
        try:
            step = next(steps)
            for answer, at_ms in invocation.heard:
                clock_ms = at_ms
                if isinstance(answer, Exception):
                    step = steps.throw(copy.copy(answer))
                else:
                    step = steps.send(answer)
        except StopIteration as end:
            return Returned(end.value), memory
        except Verdict as verdict:
            return _raised(verdict), memory
        match step:
            case Read(arguments):
                return Step("read", arguments), memory
            case Write(verb, arguments):
                return Step(verb.removesuffix("_item"), arguments), memory
            case Sleep(seconds):
                return Step("sleep", {}, round(seconds * 1_000)), memory
            case Send(until_ms):
                return Sending(until_ms), memory

    def replied(self, status: str, started_ms: int) -> Reply | ActionError:
        """Returns what it hears of a request that ended like this."""
        if status.startswith("200"):
            return Reply(started_ms, 200)
        error = copy.copy(_ERRORS.get(status, _ERRORS["silent"]))
        error.started_ms = started_ms
        return error

    def pause(self, until_ms: int, now_ms: int) -> Mapping[str, Any]:
        """Returns the update with which an operator pauses requests."""
        return breaker.pause("claims", "maintenance", "operator", until_ms, now_ms)


def _raised(verdict: Verdict) -> Raised:
    return Raised(type(verdict).__name__, str(verdict))
