"""Works through a dead end at a pace: shared by every command that replays or drops."""

import time
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated

import typer
from botocore.exceptions import ClientError
from enrichment.contract import FIRST_SENT
from pydantic import Field
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from once.errors import OnceError
from once.operate.command import ATTENTION, INTERRUPTED, Operation
from once.operate.model import Answer
from once.operate.queues import Letter, Reading
from once.operate.stack import Stack

PACE = 50.0  # messages a second, unless told otherwise
Rate = Annotated[float, typer.Option(min=0.1, help="Events a second at most.")]
_AT_ONCE = 8


class Done(Answer):
    """What working through a dead end did."""

    done: int = 0
    gone: int = Field(default=0, description="Somebody else took them meanwhile.")
    left: int | None = Field(default=None, description="Null unless somebody interrupted it.")
    failed: dict[str, str] = Field(default={}, description="By message, why it is still there.")


def work_through(
    stack: Stack,
    output: str,
    wanted: Collection[str],
    each: Callable[[Letter], None],
    per_second: float,
    console: Console,
    deleted: Callable[[Letter], None] = lambda _: None,
) -> Done:
    """Does `each` to the letters with the wanted ids, and deletes them, in this order; then
    `deleted`.

    So a crash in between leaves a copy, which the claim absorbs, and loses nothing. What comes to
    the dead end meanwhile is left alone: it may be the same event again.
    """
    settled: list[str] = []
    failed: dict[str, str] = {}

    def one(letter: Letter) -> None:
        try:
            each(letter)
            reading.delete(letter)
            settled.append(letter.message_id)
            failed.pop(letter.message_id, None)
            deleted(letter)
        except (ClientError, OnceError) as error:
            failed[letter.message_id] = str(error)

    interrupted = False
    try:
        with (
            Reading(stack, output, per_second) as reading,
            Progress(console=console, transient=True, disable=not console.is_terminal) as progress,
            ThreadPoolExecutor(_AT_ONCE) as pool,
        ):
            bar = progress.add_task("", total=len(wanted))
            for letters in reading.batches():
                started = time.monotonic()
                chosen = [letter for letter in letters if letter.message_id in wanted]
                list(pool.map(one, chosen))
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


def resend(stack: Stack, body: str, first_sent_ms: int | None) -> None:
    """Into the event queue, from where it takes the way of any event.

    Where no other clock dates the event, the time it was first sent at keeps it a copy of itself.
    """
    attributes = {}
    if first_sent_ms is not None:
        attributes[FIRST_SENT] = {"DataType": "Number", "StringValue": str(first_sent_ms)}
    stack.client("sqs").send_message(
        QueueUrl=stack.outputs["EventQueueUrl"], MessageBody=body, MessageAttributes=attributes
    )


def report(at: Operation, done: Done, word: str) -> None:
    """Says what was done; with failures, the command ends as one that needs attention."""
    said = [f"{done.done} {word}."]
    if done.gone:
        said.append(f"{done.gone} were no longer there.")
    said += [f"{escape(m)} is still there: {escape(why)}" for m, why in done.failed.items()]
    if done.left is not None:
        again = " The same command goes on with the rest." if word == "replayed" else ""
        said.append(f"Interrupted: {done.left} left.{again}")
    if done.done and word == "replayed":
        said.append("What becomes of them: once status, or once explain with the id of one.")
    at.answer(done, said)
    if done.left is not None:
        raise typer.Exit(INTERRUPTED)
    if done.failed:
        raise typer.Exit(ATTENTION)
