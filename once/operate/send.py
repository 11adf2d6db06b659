"""`once send`: puts the events of a file into a stack's queue, and waits if asked to."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from once.answers import answers
from once.lines import Line, read_lines
from once.operate import log
from once.operate import phrases as words
from once.operate.command import ATTENTION, Operation, Yes, command
from once.operate.model import Answer
from once.operate.stack import Stack
from once.outcomes import Outcome
from once.records import OutcomeLog, OutcomeRecord, settled
from once.sending import Sender

_POLL_SECONDS = 1.0


class Sent(Answer):
    """How much went into the queue, and with --wait what became of it."""

    sent: int
    not_json: int
    outcomes: dict[Outcome, int] | None = Field(default=None, description="Only with --wait.")
    unsettled: dict[str, int] | None = Field(
        default=None, description="Only with --wait: by the last reason, what is not settled yet."
    )


class _Messages:
    """The ids under which lines went."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    def sent_to_queue(self, line: Line, message_id: str) -> None:  # noqa: ARG002
        self.ids.append(message_id)

    def sent_to_bus(self, line: Line, envelope_id: str) -> None:  # noqa: ARG002
        raise AssertionError("nothing is sent by the bus")


def register(app: typer.Typer) -> None:
    command(app, "send", "once send once/examples/story.jsonl --wait")(send)


@answers(Sent)
def send(
    at: Operation,
    events: Annotated[
        Path,
        typer.Argument(metavar="EVENTS", help="One event a line, in any known shape, or JSON."),
    ],
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Until all are settled; ends with 3 if they are not in time."),
    ] = False,
    timeout: Annotated[float, typer.Option(min=0, help="Seconds that --wait waits.")] = 300,
    yes: Yes = False,
) -> None:
    """Put the events of a file into the queue, as the rule would deliver them."""
    lines = read_lines(events)
    not_json = sum(not line.is_json() for line in lines)
    if not at.stack.embedded or not_json > len(lines) / 2:
        at.confirm(
            f"Send {words.events(len(lines))} there?", yes, _facts(at.stack, len(lines), not_json)
        )
    started_ms = log.now_ms()
    messages = _Messages()
    Sender(at.stack.client("sqs"), None, at.stack.outputs, messages).to_queue(lines)
    sent = Sent(sent=len(messages.ids), not_json=not_json)
    if wait:
        with at.errors.status("waiting until all are settled …"):
            _await(at.stack, sent, messages.ids, started_ms, timeout)
    at.answer(sent, _view(sent, timeout))
    if sent.unsettled:
        raise typer.Exit(ATTENTION)


def _facts(stack: Stack, lines: int, not_json: int) -> Iterator[str]:
    if not stack.embedded:
        yield "They act as if they came from Genesys."
    if not_json:
        yield f"Not JSON, so they will be parked: {not_json} of {lines}. Is it the right file?"


def _await(stack: Stack, sent: Sent, ids: list[str], since_ms: int, timeout: float) -> None:
    until = time.monotonic() + timeout
    outcomes = OutcomeLog(stack.client("logs"), stack.outputs["OutcomeLogGroupName"], since_ms)
    records: dict[str, list[OutcomeRecord]] = {}
    while True:
        for record in outcomes.new():
            records.setdefault(record.message_id, []).append(record)
        ends = {message_id: settled(message_id, records) for message_id in ids}
        left = until - time.monotonic()
        if None not in ends.values() or left <= 0:
            break
        time.sleep(min(_POLL_SECONDS, left))
    sent.outcomes = dict(Counter(end.outcome for end in ends.values() if end))
    sent.unsettled = dict(
        Counter(_last_reason(records.get(one, ())) for one, end in ends.items() if end is None)
    )


def _last_reason(records: Sequence[OutcomeRecord]) -> str:
    return records[-1].reason or "RETRY" if records else "NOTHING_RECORDED"


def _view(sent: Sent, timeout: float) -> Iterator[str]:
    if sent.outcomes is None:
        yield f"{words.events(sent.sent)} sent. See what becomes of them with: once status"
    else:
        counts = ", ".join(f"{sent.outcomes[o]:,} {o}" for o in Outcome if o in sent.outcomes)
        yield f"{words.events(sent.sent)} sent: {counts or 'none is settled'}."
        if Outcome.STALE in sent.outcomes:
            yield "Sent at once, states overtake each other; once run --step FILE keeps the order."
    for reason, count in (sent.unsettled or {}).items():
        yield f"Not settled within {timeout:g} s: {words.events(count)}, {words.reason(reason)}."
    if sent.unsettled:
        yield "See why with: once status"
    if sent.not_json:
        yield f"Not JSON, so they will be parked: {sent.not_json}."
