"""`once pause` and `once resume`: send the destination no requests for a while."""

import getpass
import time
from contextlib import suppress
from typing import Annotated

import typer
from once_pacing import breaker_row
from pydantic import Field
from rich.markup import escape

from once.answers import answers
from once.errors import OnceError
from once.operate import log
from once.operate import phrases as words
from once.operate.command import Operation, Yes, command
from once.operate.model import Answer
from once.operate.pace import Pause, State, read_breaker, read_pipe
from once.operate.queues import read_depth
from once.operate.stack import Stack
from once.operate.typed import parse_duration
from once.operate.waiting import group_by_reason, read_unsettled

_POLL_SECONDS = 0.5
_PATIENCE_SECONDS = 180
# What waits for the end of a pause cannot be hidden for longer: the queue allows 12 hours.
_LONGEST_MS = 11 * 3_600_000
# The reasons of events that wait for the destination; those times stay after `once resume`.
_OF_DESTINATION = {"BREAKER_OPEN", "RATE_LIMITED", "CALL_FAILED"}


class Paused(Answer):
    """The pause that was set."""

    pause: Pause


class Resumed(Answer):
    """The stack after `once resume`."""

    pipe: str
    ended: Pause | None = Field(description="The pause that was ended; null if there was none.")
    returns_until_ms: int | None = Field(
        description="When the last event that waits for the destination returns; null if none does."
    )


@command('once pause --for 2h --reason "the CRM is being repaired"')
@answers(Paused)
def pause(
    at: Operation,
    lasting: Annotated[
        str, typer.Option("--for", metavar="TIME", help="How long: 90s, 30m, 2h; at most 11h.")
    ] = "30m",
    reason: Annotated[
        str,
        typer.Option(metavar="TEXT", help="The reason that `once status` and `once explain` show."),
    ] = "no reason was given",
    yes: Yes = False,
) -> None:
    """Pause requests to the destination: events wait on the queue, and no try counts."""
    lasts_ms = parse_duration(lasting) or 0
    if not 0 < lasts_ms <= _LONGEST_MS:
        raise OnceError(f"{lasting} is no such time: give e.g. --for 90s, 30m or 2h; at most 11h.")
    now_ms = log.now_ms()
    until_ms = now_ms + lasts_ms
    current = read_breaker(at.stack, now_ms).pause
    question = f"Pause requests for {words.format_age(lasts_ms)}?"
    facts = ["In a pause events wait on the queue. To end a pause early: once resume"]
    if current is not None:
        facts.insert(0, escape(words.capitalise(current.text(now_ms))))
        if current.until_ms > until_ms:
            question = f"End that pause earlier, in {words.format_age(lasts_ms)}?"
    at.confirm(question, yes, facts)
    if at.stack.is_local:
        by = getpass.getuser()  # a local stack knows no identity
    else:
        by = str(at.stack.client("sts").get_caller_identity()["Arn"]).rpartition(":")[2]
    table = at.stack.outputs["ClaimTableName"]
    request = breaker_row.pause(table, reason, by, until_ms, now_ms)
    at.stack.client("dynamodb").update_item(**request)
    since_ms = current.since_ms if current else now_ms
    at.answer(
        Paused(pause=Pause(reason=reason, by=by, since_ms=since_ms, until_ms=until_ms)),
        [
            f"Requests are paused until {words.format_second(until_ms)} UTC; then one request "
            "probes. Requests that have begun are not stopped.",
            "To end the pause early: once resume",
        ],
    )


@command("once resume")
@answers(Resumed)
def resume(at: Operation, yes: Yes = False) -> None:
    """Send requests again, and start the pipe if it is stopped; waiting events return later."""
    now_ms = log.now_ms()
    before = read_breaker(at.stack, now_ms)
    pipe = read_pipe(at.stack)
    sends = before.state is State.CLOSED and not before.failed
    if not sends or pipe != "RUNNING":
        question = "Start the pipe?" if sends else "Send requests again?"
        facts = [] if pipe == "RUNNING" else [f"The pipe is {pipe}, and is started."]
        if not sends:
            facts += [
                escape(words.capitalise(before.text(now_ms))),
                "The breaker counts failing events from zero. Each waiting event keeps its tries, "
                "and returns at its own time.",
            ]
        at.confirm(question, yes, facts)
    _let_requests_flow(at.stack)
    pipe = _start_pipe(at.stack)
    queued = read_depth(at.stack, "EventQueueUrl").total
    waits = group_by_reason(read_unsettled(at.stack, now_ms, queued), before, now_ms)
    waits = [one for one in waits if one.reason in _OF_DESTINATION]
    until_ms = max((one.last_returns_at_ms for one in waits), default=None)
    said = [f"Requests are sent; the pipe is {pipe}."]
    if before.pause is not None:
        said.insert(0, f"The pause is over ({escape(before.pause.reason)}).")
    if until_ms is not None:
        at_last = words.format_clock(until_ms)[:8]
        count = sum(one.events for one in waits)
        wait = f"{words.count_events(count)} still {'waits' if count == 1 else 'wait'}"
        said.append(
            f"{wait}, until {at_last} UTC at the latest; new events are acted on immediately."
        )
    at.answer(Resumed(pipe=pipe, ended=before.pause, returns_until_ms=until_ms), said)


def _let_requests_flow(stack: Stack) -> None:
    table, dynamodb = stack.outputs["ClaimTableName"], stack.client("dynamodb")
    with suppress(dynamodb.exceptions.ConditionalCheckFailedException):
        dynamodb.delete_item(**breaker_row.end_pause(table))
    with suppress(dynamodb.exceptions.ConditionalCheckFailedException):
        dynamodb.update_item(**breaker_row.resume(table))


def _start_pipe(stack: Stack) -> str:
    """Starts the pipe unless it runs, and returns its state when it does."""
    pipes, name = stack.client("pipes"), stack.outputs["PipeName"]
    if read_pipe(stack) != "RUNNING":
        pipes.start_pipe(Name=name)
    until = time.monotonic() + _PATIENCE_SECONDS
    while (state := read_pipe(stack)) != "RUNNING":
        if state.endswith("_FAILED") or time.monotonic() > until:
            raise OnceError(f"The pipe is {state}. See why with: once status")
        time.sleep(_POLL_SECONDS)
    return state
