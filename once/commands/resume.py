"""`once resume`: sends requests again, and starts the pipe."""

import time
from contextlib import suppress

from once_data_action import breaker
from pydantic import Field
from rich.markup import escape

from once.cli_options import YES, Operation, on_stack
from once.errors import OnceError
from once.model import Model, words
from once.model.status import Pause
from once.stack.facade import Stack, read_clock_ms

_POLL_SECONDS = 0.5
_PATIENCE_SECONDS = 180
_LONGEST_DELAY = "within 15 minutes, mostly sooner"  # SQS delays no message for longer


class Resumed(Model):
    """The stack after `once resume`."""

    pipe: str
    ended: Pause | None = Field(description="The pause that was ended; null if there was none.")
    events: int = Field(description="Events that still wait, as the queue says.")


@on_stack("once resume", answers=Resumed)
@YES
def command(operation: Operation, yes: bool) -> None:
    """Send requests again, and start the pipe if it is stopped; waiting events come back later."""
    stack, now_ms = operation.stack, read_clock_ms()
    before = stack.read_breaker(now_ms)
    pipe, _ = stack.read_pipe()
    if not before.is_healthy or pipe != "RUNNING":
        question = "Start the pipe?" if before.is_healthy else "Send requests again?"
        facts = [] if pipe == "RUNNING" else [f"The pipe is {pipe}, and is started."]
        if not before.is_healthy:
            facts += [
                escape(words.capitalise(before.text(now_ms))),
                "The breaker counts failing events from zero. Each waiting event keeps its tries, "
                f"and comes back at its own time, {_LONGEST_DELAY}.",
            ]
        operation.confirm(question, yes, facts)

    table, dynamodb = stack.outputs["ClaimTableName"], stack.client("dynamodb")
    with suppress(dynamodb.exceptions.ConditionalCheckFailedException):
        dynamodb.delete_item(**breaker.end_pause(table))
    with suppress(dynamodb.exceptions.ConditionalCheckFailedException):
        dynamodb.update_item(**breaker.resume(table))
    pipe = _start_pipe(stack)

    events = stack.read_depth("EventQueueUrl").delayed
    view = [f"Requests are sent; the pipe is {pipe}."]
    if before.pause:
        view.insert(0, f"The pause is over ({escape(before.pause.reason)}).")
    if events:
        view.append(
            f"Events that still wait: {events:,}. Each comes back at its own time, "
            f"{_LONGEST_DELAY}, and is sent after that; new events are acted on immediately. "
            "See: once status"
        )
    operation.answer(Resumed(pipe=pipe, ended=before.pause, events=events), view)


def _start_pipe(stack: Stack) -> str:
    """Starts the pipe unless it runs, and returns its state when it does."""
    state, _ = stack.read_pipe()
    if state != "RUNNING":
        stack.client("pipes").start_pipe(Name=stack.outputs["PipeName"])
    until = time.monotonic() + _PATIENCE_SECONDS
    while state != "RUNNING":
        if state.endswith("_FAILED") or time.monotonic() > until:
            raise OnceError(f"The pipe is {state}. See why with: once status")
        time.sleep(_POLL_SECONDS)
        state, _ = stack.read_pipe()
    return state
