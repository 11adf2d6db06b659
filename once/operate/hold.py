"""`once hold` and `once resume`: let nobody call the destination, and let calls flow again."""

import re
import time
from collections.abc import Iterator
from typing import Annotated

import typer
from pacing import breaker_row
from pydantic import Field
from rich.markup import escape

from once.answers import answers
from once.errors import OnceError
from once.operate import log, pace
from once.operate import phrases as words
from once.operate.command import Operation, Yes, command
from once.operate.model import Answer
from once.operate.stack import Stack

_POLL_SECONDS = 0.5
_PATIENCE_SECONDS = 180
_UNITS = {"s": 1, "m": 60, "h": 3_600}
# What waits for the end of a hold cannot be hidden for longer: the queue allows 12 hours.
_LONGEST_SECONDS = 11 * 3_600


class Held(Answer):
    """Until when nobody calls."""

    until_ms: int
    why: str


class Resumed(Answer):
    """What flows again."""

    pipe: str
    was_held: str | None = Field(description="Why calls were held; null if nobody held them.")
    waits_until_ms: int | None = Field(
        description="What was handed back meanwhile comes back until then; null if nothing was."
    )


def register(app: typer.Typer) -> None:
    command(app, "hold", 'once hold --for 2h --why "the CRM is being repaired"')(hold)
    command(app, "resume", "once resume")(resume)


@answers(Held)
def hold(
    at: Operation,
    lasting: Annotated[
        str, typer.Option("--for", metavar="TIME", help="How long: 90s, 30m, 2h; 11 h at most.")
    ] = "30m",
    why: Annotated[
        str, typer.Option("--why", metavar="TEXT", help="What `once status` says of it.")
    ] = "no reason was given",
    yes: Yes = False,
) -> None:
    """Let nobody call the destination for a while: events wait on the queue and spend no try."""
    seconds = seconds_of(lasting)
    at.confirm(
        f"Hold all calls for {words.age(seconds * 1000)}?",
        yes,
        ["Events wait on the queue meanwhile. Sooner again with: once resume"],
    )
    now_ms = log.now_ms()
    until_ms = now_ms + seconds * 1000
    request = breaker_row.hold(at.stack.outputs["ClaimTableName"], why, until_ms, now_ms)
    at.stack.client("dynamodb").update_item(**request)
    at.answer(
        Held(until_ms=until_ms, why=why),
        [
            f"Calls are held until {words.moment(until_ms)[:19]} UTC; then one call probes first. "
            "What has begun to call ends its call.",
            "Sooner: once resume. Longer: once hold again.",
        ],
    )


@answers(Resumed)
def resume(at: Operation) -> None:
    """Let calls flow at once, and start the pipe if it is stopped."""
    before = pace.breaker(at.stack, log.now_ms())
    request = breaker_row.resume(at.stack.outputs["ClaimTableName"])
    at.stack.client("dynamodb").delete_item(**request)
    pipe = _start_pipe(at.stack)
    resumed = Resumed(pipe=pipe, was_held=before.held, waits_until_ms=before.until_ms)
    at.answer(resumed, _view(resumed))


def seconds_of(lasting: str) -> int:
    """`30m` in seconds."""
    found = re.fullmatch(r"([0-9]{1,6})([smh])", lasting.strip())
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 0 < seconds <= _LONGEST_SECONDS:
        raise OnceError(
            f"{lasting} is no time to hold calls for: give e.g. --for 90s, 30m or 2h, 11h at most."
        )
    return seconds


def _start_pipe(stack: Stack) -> str:
    """The pipe's state, when it runs."""
    pipes, name = stack.client("pipes"), stack.outputs["PipeName"]
    described = pipes.describe_pipe(Name=name)
    if described["CurrentState"] != "RUNNING":
        pipes.start_pipe(Name=name)
    until = time.monotonic() + _PATIENCE_SECONDS
    while (state := str(described["CurrentState"])) != "RUNNING":
        if state.endswith("_FAILED") or time.monotonic() > until:
            raise OnceError(f"The pipe is {state}: {described.get('StateReason') or 'no reason'}")
        time.sleep(_POLL_SECONDS)
        described = pipes.describe_pipe(Name=name)
    return state


def _view(resumed: Resumed) -> Iterator[str]:
    if resumed.was_held is not None:
        yield f"No longer held: {escape(resumed.was_held)}"
    yield f"Calls flow; the pipe is {resumed.pipe}."
    if resumed.waits_until_ms is not None:
        yield (
            "What was handed back meanwhile comes back until shortly after "
            f"{words.clock(resumed.waits_until_ms)[:8]} UTC; what arrives now acts at once."
        )
