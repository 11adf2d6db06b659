"""`once send`: puts the events of a file into a stack's queue, and waits if asked to."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field

from once.answers import answers
from once.errors import OnceError
from once.lines import Line, read_lines
from once.operate import log
from once.operate import phrases as words
from once.operate.command import ATTENTION, Operation, Yes, command
from once.operate.model import Answer
from once.operate.stack import Stack
from once.outcomes import Outcome
from once.project import EXAMPLE, HOW_TO_GET_EVENTS
from once.reasons import describe
from once.records import OutcomeLog
from once.sending import chain_by_claim, send_in_chains, send_to_queue
from once.waiter import Waiter

_POLL_SECONDS, _LOCAL_POLL_SECONDS = 1.0, 0.1


class Sent(Answer):
    """The number of events that were sent, and with --wait their ends."""

    sent: int
    no_event: int = Field(description="Texts without an event: they are parked.")
    outcomes: dict[Outcome, int] | None = Field(default=None, description="Only with --wait.")
    unsettled: dict[str, int] | None = Field(
        default=None, description="Only with --wait: by the last reason, what is not settled yet."
    )


@command("once send events.jsonl --wait")
@answers(Sent)
def send(
    at: Operation,
    events: Annotated[
        Path | None,
        typer.Argument(
            metavar="EVENTS",
            help="A file of events in any known form. Default, on a local stack: the example "
            "story, with --step.",
            show_default=False,
        ),
    ] = None,
    step: Annotated[
        bool,
        typer.Option(
            "--step",
            help="Send a copy or newer state when the one before it is settled; implies --wait.",
        ),
    ] = False,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait", help="Wait until all are settled; exit code 3 if they are not in time."
        ),
    ] = False,
    timeout: Annotated[float, typer.Option(min=0, help="How many seconds --wait waits.")] = 300,
    yes: Yes = False,
) -> None:
    """Put the events of a file into the queue, as the rule would deliver them."""
    if events is None and not at.stack.is_local:
        raise OnceError(f"The example is for a local stack. {HOW_TO_GET_EVENTS}")
    lines, is_stepped = read_lines(events or EXAMPLE), step or events is None
    no_event = sum(line.problem is not None for line in lines)
    stack = at.stack
    if not stack.is_local or no_event > len(lines) / 2:
        facts = [] if stack.is_local else ["They act as if they came from Genesys."]
        if no_event:
            texts = f"{no_event} of {len(lines)} are no events"
            facts.append(f"{texts} and will be parked. Is it the right file?")
        at.confirm(f"Send {words.count_messages(len(lines))} there?", yes, facts)
    records = OutcomeLog(stack.client("logs"), stack.outputs["OutcomeLogGroupName"], log.now_ms())
    poll_seconds = _LOCAL_POLL_SECONDS if stack.is_local else _POLL_SECONDS
    sending = _Sending(stack, Waiter(records, poll_seconds), timeout)
    sent = Sent(sent=0, no_event=no_event)
    with at.errors.status("sending …"):
        if is_stepped:
            send_in_chains(chain_by_claim(lines), sending.send, sending.wait_for_one)
        else:
            sending.send(lines)
    sent.sent = len(sending.ids)
    if wait or is_stepped:
        with at.errors.status("waiting until all are settled …"):
            sending.wait_for_all(sent)
        if unsent := len(lines) - sent.sent:
            sent.unsettled = {**(sent.unsettled or {}), "NOT_SENT": unsent}
    at.answer(sent, _view(sent, timeout, is_stepped))
    if sent.unsettled:
        raise typer.Exit(ATTENTION)


class _Sending:
    """Sends lines, and waits for what becomes of them, for `seconds` in all."""

    def __init__(self, stack: Stack, waiter: Waiter, seconds: float) -> None:
        self.ids: dict[int, str] = {}
        """The messages by the numbers of their lines."""
        self._stack, self._waiter, self._seconds_left = stack, waiter, seconds

    def send(self, lines: Sequence[Line]) -> None:
        for one in send_to_queue(self._stack.client, self._stack.outputs, lines):
            self.ids[one.line.number] = one.id

    def wait_for_one(self, parts: Sequence[Sequence[Line]]) -> list[bool]:
        """Returns which parts are settled: at least one, if the time is not over."""
        ended: list[bool] = []

        def is_enough() -> bool:
            ended[:] = [
                all(self._waiter.end_of(self.ids[line.number]) for line in part) for part in parts
            ]
            return any(ended)

        self._wait(is_enough)
        return ended

    def wait_for_all(self, sent: Sent) -> None:
        ids = self.ids.values()
        self._wait(lambda: all(map(self._waiter.end_of, ids)))
        ends = {message_id: self._waiter.end_of(message_id) for message_id in ids}
        sent.outcomes = dict(Counter(end.outcome for end in ends.values() if end))
        unsettled = [self._waiter.last_of(one) for one, end in ends.items() if end is None]
        sent.unsettled = dict(
            Counter((one.reason or "RETRY") if one else "NOTHING_RECORDED" for one in unsettled)
        )

    def _wait(self, is_enough: Callable[[], bool]) -> None:
        started = self._waiter.clock()
        self._waiter.wait(is_enough, self._seconds_left)
        self._seconds_left -= self._waiter.clock() - started


def _view(sent: Sent, timeout: float, is_stepped: bool) -> Iterator[str]:
    if sent.outcomes is None:
        yield f"{words.count_messages(sent.sent)} sent. To follow them: once status"
    else:
        counts = ", ".join(f"{sent.outcomes[o]:,} {o}" for o in Outcome if o in sent.outcomes)
        yield f"{words.count_messages(sent.sent)} sent: {counts or 'none is settled'}."
        if Outcome.STALE in sent.outcomes and not is_stepped:
            yield "States that are sent together overtake each other; --step keeps the order."
    for reason, count in (sent.unsettled or {}).items():
        failed = "Not sent" if reason == "NOT_SENT" else f"Not settled within {timeout:g} s"
        yield f"{failed}: {words.count_messages(count)}, {describe(reason)}."
    if sent.unsettled:
        yield "See why with: once status"
    if sent.no_event:
        yield f"Without an event, so parked: {words.count_messages(sent.no_event)}."
