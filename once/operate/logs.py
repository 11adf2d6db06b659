"""`once logs`: what a function of the stack, its pipe or its machine wrote in the last minutes."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from enum import StrEnum
from itertools import dropwhile
from typing import Annotated

import typer
from pydantic import Field
from rich.markup import escape

from once.answers import answers
from once.operate import log
from once.operate import phrases as words
from once.operate.command import Operation, command
from once.operate.model import Answer
from once.operate.typed import parse_since
from once.reasons import REASONS

_SHOWN = 200
# What Lambda writes at each invocation, also if the function fails.
_FRAME = re.compile(r"(START|END|REPORT) RequestId: |INIT_START ")
# The last line of a traceback; a class in a module needs no such end.
_RAISED = re.compile(
    r"^((?:(?:\w+\.)+[A-Z]\w*|[A-Z]\w*(?:Error|Exception))(?:: .*)?)$", re.MULTILINE
)


class Part(StrEnum):
    """A part of the stack that has a log."""

    ENRICHMENT = "enrichment"
    PACING = "pacing"
    DATA_ACTION = "data-action"
    MACHINE = "machine"
    PIPE = "pipe"


OUTPUTS = {
    Part.ENRICHMENT: "EnrichmentLogGroupName",
    Part.PACING: "PacingLogGroupName",
    Part.DATA_ACTION: "DataActionLogGroupName",
    Part.MACHINE: "ExecutionLogGroupName",
    Part.PIPE: "PipeLogGroupName",
}


class Logs(Answer):
    """The lines that a part of the stack wrote, oldest first."""

    group: str = Field(description="The log group.")
    error: str | None = Field(
        description="The newest error of this function itself, from the outcomes, else the newest "
        "that this log has: the class of the error, and its text if the platform or we wrote it."
    )
    lines: list[log.Line]
    left_out: int = Field(description="The START, END and REPORT lines, which are not in `lines`.")


@command("once logs data-action --since 10m")
@answers(Logs)
def logs(
    at: Operation,
    part: Annotated[Part, typer.Argument(help="The part of the stack.")],
    since: Annotated[
        str, typer.Option(metavar="TIME", help="How far back: 10m, 2h, or a time in UTC.")
    ] = "1h",
    every: Annotated[bool, typer.Option("--all", help="START, END and REPORT lines too.")] = False,
) -> None:
    """Show what a function, the pipe or the state machine wrote, for when it fails itself."""
    since_ms = parse_since(since, log.now_ms())
    group = at.stack.outputs[OUTPUTS[part]]
    written = list(log.filter_lines(at.stack, group, since_ms))
    lines = [one for one in written if every or not _FRAME.match(one.text)]
    codes = [code for code, reason in REASONS.items() if reason.log == part]
    pattern = log.any_of(*codes)
    records = log.search(at.stack, pattern, since_ms=since_ms).records if codes else []
    # The newest outcome that this part caused: its own log may lack the error.
    causes = (one.cause for one in reversed(records) if one.reason in codes)
    found = Logs(
        group=group,
        error=next(filter(None, causes), None) or _find_logged_error(lines),
        lines=lines,
        left_out=len(written) - len(lines),
    )
    at.answer(found, _view(found, part, since))


def _find_logged_error(lines: Sequence[log.Line]) -> str | None:
    """Finds the newest error that was raised: AWS writes JSON, the emulator a traceback."""
    for line in reversed(lines):
        with suppress(ValueError, KeyError, TypeError):
            said = json.loads(line.text)
            return _shorten(f"{said['errorType']}: {said['errorMessage']}")
        if raised := _RAISED.findall(line.text):
            return _shorten(raised[-1])
    return None


def _shorten(error: str) -> str:
    """Leaves only the sentence of an error whose text is our facts about a request."""
    name, _, text = error.partition(": ")
    with suppress(ValueError, KeyError, TypeError):
        return f"{name}: {json.loads(text)['sentence']}"
    return error


def _view(found: Logs, part: Part, since: str) -> Iterator[str]:
    if found.error:
        yield f"[red]The newest error:[/] {escape(found.error)}"
    if not found.lines:
        left_out = " but START, END and REPORT lines (--all)" if found.left_out else ""
        nothing = "The outcome log has that error; nothing" if found.error else "Nothing"
        yield f"{nothing} was logged here since {since}{left_out}."
        if part is Part.ENRICHMENT:
            yield "If it fails, this says with which error: once check"
    # The first of them may be the middle of a traceback.
    shown = list(dropwhile(lambda one: one.text[:1].isspace(), found.lines[-_SHOWN:]))
    if len(shown) < len(found.lines):
        yield f"[dim]the last {len(shown)} of {len(found.lines):,} lines; --json has all[/]"
    for line in shown:
        yield f"[dim]{words.format_clock(line.at_ms)}[/] {escape(line.text)}"
