"""`once resume`: sends requests again, and starts the pipe."""

import time
from contextlib import suppress

from once_data_action import breaker_row
from pydantic import Field
from rich.markup import escape

from once.cli_options import YES, Operation, on_stack
from once.errors import OnceError
from once.model import words
from once.model.base import Model
from once.model.pace import Pause
from once.stack.facade import Stack, read_clock_ms
from once.stack.waiting import Waits, group_by_reason, read_waiting

_POLL_SECONDS = 0.5
_PATIENCE_SECONDS = 180
_LONGEST_DELAY = "at most 15 minutes"  # SQS delays no message for longer


class Resumed(Model):
    """The stack after `once resume`."""

    pipe: str
    ended: Pause | None = Field(description="The pause that was ended; null if there was none.")
    waiting: list[Waits]
    events: int = Field(description="Events that wait, as recorded or as the queue says.")
    last_due_ms: int | None = Field(description="When the last is back; null if none waits.")


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
                f"and comes back at its own time, in {_LONGEST_DELAY}.",
            ]
        operation.confirm(question, yes, facts)

    table, dynamodb = stack.outputs["ClaimTableName"], stack.client("dynamodb")
    with suppress(dynamodb.exceptions.ConditionalCheckFailedException):
        dynamodb.delete_item(**breaker_row.end_pause(table))
    with suppress(dynamodb.exceptions.ConditionalCheckFailedException):
        dynamodb.update_item(**breaker_row.resume(table))
    pipe = _start_pipe(stack)

    depth = stack.read_depth("EventQueueUrl")
    # Records of then, read as the breaker was then: those events wait still.
    waits = group_by_reason(
        read_waiting(stack, before, depth.delayed or min(depth.total, 1), now_ms), before, now_ms
    )
    events = max(sum(group.events for group in waits), depth.delayed)
    last_due_ms = max((group.last_due_ms for group in waits), default=None)
    view = [f"Requests are sent; the pipe is {pipe}."]
    if before.pause:
        view.insert(0, f"The pause is over ({escape(before.pause.reason)}).")
    if events:
        until = f"in {_LONGEST_DELAY}"
        if last_due_ms:
            until = f"at {words.format_clock(last_due_ms)} UTC at the latest"
        wait = f"{words.count(events, 'event')} still {'waits' if events == 1 else 'wait'}"
        view.append(f"{wait}, and the last is back {until}; new events are acted on immediately.")
    operation.answer(
        Resumed(
            pipe=pipe, ended=before.pause, waiting=waits, events=events, last_due_ms=last_due_ms
        ),
        view,
    )


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
