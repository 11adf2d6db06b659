"""`once send`: puts the events of a file into a stack's queue, and waits if told to."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
from pydantic import Field
from rich.markup import escape

from once.cli_options import ATTENTION, YES, Operation, on_stack
from once.errors import OnceError
from once.lines import Line, read_lines
from once.model import Model, words
from once.model.reasons import Outcome, describe
from once.project import EXAMPLE, HOW_TO_GET_EVENTS
from once.stack.delivery import Delivery, Standing

_LISTED_LINES = 20
_PATIENCE_SECONDS = 300


class Sent(Model):
    """The number of events that were sent, and with --wait their ends."""

    sent: int
    no_event: int = Field(description="Texts without an event: they are parked.")
    outcomes: dict[Outcome, int] | None = Field(default=None, description="Only with --wait.")
    unsettled: dict[str, int] | None = Field(
        default=None, description="Only with --wait: by the last reason, what is not settled yet."
    )


@on_stack("once send events.jsonl --wait", answers=Sent)
@click.argument("events", required=False, type=click.Path(path_type=Path))
@click.option(
    "--wait",
    is_flag=True,
    help="Send a copy or newer state when the one before it is settled, and wait until all are; "
    "exit code 3 if they are not in time. Default: send all together.",
)
@YES
def command(operation: Operation, events: Path | None, wait: bool, yes: bool) -> None:
    """Put EVENTS, a file or folder in any known form, into the queue, as the rule would.

    Default, on a local stack: the example story.
    """
    stack = operation.stack
    if events is None and not stack.is_local:
        raise OnceError(
            f"The example is for a local stack; start one with: once up\n{HOW_TO_GET_EVENTS}"
        )
    lines = read_lines(events or EXAMPLE)
    no_event = sum(line.problem is not None for line in lines)
    if not stack.is_local or no_event > len(lines) / 2:
        facts = [] if stack.is_local else ["They act as if they came from Genesys."]
        if no_event:
            texts = f"{no_event} of {len(lines)} are no events"
            facts.append(f"{texts} and will be parked. Is it the right file?")
        operation.confirm(f"Send {words.count(len(lines), 'message')} there?", yes, facts)
    with operation.errors.status("sending …") as status:

        def is_over(standing: Standing) -> bool:
            status.update(f"{standing.settled} of {len(lines)} settled …")
            return standing.seconds > _PATIENCE_SECONDS

        delivery = Delivery(stack, is_over)
        if wait:
            delivery.send_in_steps(lines)
        else:
            delivery.send(lines)
    sent = Sent(sent=sum(map(delivery.is_sent, lines)), no_event=no_event)
    if wait:
        _add_ends(sent, lines, delivery)
    operation.answer(sent, _view(sent, lines, delivery))
    if sent.unsettled:
        operation.exit(ATTENTION)


def _add_ends(sent: Sent, lines: list[Line], delivery: Delivery) -> None:
    """Counts what is settled by its outcome, and all else by its last reason."""
    outcomes, unsettled = Counter[Outcome](), Counter[str]()
    for line in lines:
        end = delivery.end_of(line)
        if end is None:
            unsettled["NOTHING_RECORDED" if delivery.is_sent(line) else "NOT_SENT"] += 1
        elif end.is_settled:
            outcomes[end.outcome] += 1
        else:
            unsettled[end.reason or Outcome.RETRY] += 1
    sent.outcomes, sent.unsettled = dict(outcomes), dict(unsettled)


def _view(sent: Sent, lines: list[Line], delivery: Delivery) -> Iterator[str]:
    number = words.count(sent.sent, "message")
    if sent.outcomes is None:
        yield f"{number} sent. To follow them: once status"
    else:
        ends = ", ".join(f"{sent.outcomes[o]:,} {o}" for o in Outcome if o in sent.outcomes)
        yield f"{number} sent: {ends or 'none is settled'}."
        for line in lines if len(lines) <= _LISTED_LINES else ():
            if (end := delivery.end_of(line)) is not None:
                why = end.why or "the destination acted"
                key = f"  once explain {escape(str(end.key))}" if end.key else ""
                yield f"{line.number:>3}  {end.outcome:<9}  {escape(why)}{key}"
    for reason, unsettled in (sent.unsettled or {}).items():
        is_sent = reason != "NOT_SENT"
        failed = f"Not settled within {_PATIENCE_SECONDS} s" if is_sent else "Not sent"
        yield f"{failed}: {words.count(unsettled, 'message')}, {describe(reason)}."
    if sent.unsettled:
        yield "See why with: once status"
    if sent.no_event:
        yield f"Without an event, so parked: {words.count(sent.no_event, 'message')}."
