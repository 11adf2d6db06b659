"""Works through the messages of a dead end at a pace, and deletes what is done."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, TypeVar

import typer
from botocore.exceptions import ClientError
from pydantic import Field
from rich.console import Console
from rich.progress import Progress

from once.errors import OnceError
from once.operate.model import Answer
from once.operate.queues import QueuedMessage, Reading
from once.operate.stack import Stack

PACE = 50.0  # messages a second, unless --rate says otherwise
Rate = Annotated[float, typer.Option(min=0.1, help="At most this many messages per second.")]
_AT_ONCE = 8
T = TypeVar("T")


class Done(Answer):
    """The result of working through a dead end."""

    done: int = 0
    gone: int = Field(default=0, description="Somebody else took them meanwhile.")
    left: int | None = Field(default=None, description="Null unless it was interrupted.")
    failed: dict[str, str] = Field(default={}, description="By message, why it is still there.")


def work_through(
    stack: Stack,
    output: str,
    wanted: Mapping[str, T],
    each: Callable[[T], None],
    per_second: float,
    console: Console,
    deleted: Callable[[T], None],
) -> Done:
    """Does `each` to what is wanted, by the id of its message, deletes the messages, and then does
    `deleted`.

    So a crash in between leaves a copy, which its claim recognises, and loses nothing. What comes
    to the dead end meanwhile is left alone: it may be the same event again.
    """
    settled: list[str] = []
    failed: dict[str, str] = {}

    def work_on(message: QueuedMessage) -> None:
        try:
            each(wanted[message.message_id])
            reading.delete(message)
            settled.append(message.message_id)
            failed.pop(message.message_id, None)
            deleted(wanted[message.message_id])
        except (ClientError, OnceError) as error:
            failed[message.message_id] = str(error)

    interrupted = False
    try:
        with (
            Reading(stack, output, per_second) as reading,
            Progress(console=console, transient=True, disable=not console.is_terminal) as progress,
            ThreadPoolExecutor(_AT_ONCE) as pool,
        ):
            bar = progress.add_task("", total=len(wanted))
            for messages in reading.batches():
                started = time.monotonic()
                chosen = [message for message in messages if message.message_id in wanted]
                list(pool.map(work_on, chosen))
                progress.advance(bar, len(chosen))
                if len(settled) + len(failed) == len(wanted):
                    break
                time.sleep(max(0, len(chosen) / per_second - (time.monotonic() - started)))
    except KeyboardInterrupt:
        interrupted = True
    rest = len(wanted) - len(settled) - len(failed)
    if interrupted:
        return Done(done=len(settled), failed=failed, left=rest)
    return Done(done=len(settled), failed=failed, gone=rest)
