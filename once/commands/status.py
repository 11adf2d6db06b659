"""`once status`: how requests flow, what waits until when, what is stuck, and what helps."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator

import click
from rich.markup import escape

from once.cli_options import ATTENTION, Operation, on_stack
from once.model import words
from once.model.reasons import FOR_THE_BREAKER, Outcome, describe
from once.model.status import Arrived, State, Status
from once.screen import Row, Whole
from once.stack.facade import read_clock_ms
from once.stack.status import read_status


@on_stack("once status", answers=Status)
@click.option("--verbose", is_flag=True, help="Show each family.")
def command(operation: Operation, verbose: bool) -> None:
    """Show the breaker, what waits until when, what is stuck and how to fix it."""
    now_ms = read_clock_ms()
    status = read_status(operation.stack, now_ms)
    for finding in status.findings:
        finding.commands = [
            f"{typed}{operation.options}" if typed.startswith("once ") else typed
            for typed in finding.commands
        ]
    operation.answer(status, _view(status, now_ms, verbose))
    if status.findings:
        operation.exit(ATTENTION)


def _describe_flow(status: Status, now_ms: int) -> str:
    if not status.is_breaker_known:
        return "[yellow]Breaker unknown: the claim table cannot be read[/]"
    if status.breaker.pause:
        return "[yellow]Requests are paused[/]"  # the finding says by whom, why and until when
    flow = escape(words.capitalise(status.breaker.text(now_ms)))
    return flow if status.breaker.is_healthy else f"[yellow]{flow}[/]"


def _view(status: Status, now_ms: int, verbose: bool) -> Iterator[str]:
    yield _describe_flow(status, now_ms)
    if status.limit:
        minutes = math.ceil(status.queue.total / status.limit)
        rest = f"{status.queue.total:,} wait, about {words.count(minutes, 'minute')}"
        yield f"Limited to {status.limit:,} per minute, {rest if minutes else 'nothing waits'}"
    if status.only_observes:
        yield words.OBSERVED
    queue = status.queue
    yield (
        f"queue {queue.total:,}: {queue.visible:,} ready, {queue.in_flight:,} in progress, "
        f"{queue.delayed:,} wait; parked {status.parked:,}"
    )
    for waits in status.waiting:
        until = words.format_clock(waits.last_due_ms)
        head = f"waits: {status.count(waits.events)} until {until} at the latest  "
        is_told = waits.reason in FOR_THE_BREAKER and status.breaker.state is not State.CLOSED
        has_finding = any(finding.code == waits.reason for finding in status.findings)
        sentence = describe(waits.reason) if has_finding else waits.sentence  # it has the cause
        text = waits.reason if is_told else f"{waits.reason}: {sentence}"
        yield Row.of(head, escape(words.shorten_ids(text)))
    ends: Counter[Outcome] = sum((Counter(a.outcomes) for a in status.arrived), Counter())
    # Parked events may have been replayed since.
    parked = "was parked" if ends[Outcome.PARKED] == 1 else "were parked"
    named = ((n, parked if end is Outcome.PARKED else end) for end, n in ends.most_common())
    settled = ", ".join(f"{number:,} {name}" for number, name in named)
    yield f"settled in the last day: {settled or 'nothing'}"
    by_source: dict[str, list[Arrived]] = defaultdict(list)
    for arrived in status.arrived:
        if arrived.family == "broken":
            continue  # no event, and perhaps a canary
        by_source[arrived.source].append(arrived)
    for source, families in by_source.items():
        age = words.format_age(now_ms - families[0].last_ms)
        yield escape(f"  last event of {source}: {age} ago")
        for arrived in families if verbose else ():
            age = words.format_age(now_ms - arrived.last_ms)
            yield escape(f"    {arrived.family}: {age} ago")
    yield f"pipe {status.pipe}, state machine {status.machine}"
    if not status.findings:
        is_waiting = status.waiting or status.queue.delayed
        text = "What waits comes back by itself" if is_waiting else "Nothing is stuck"
        yield f"[green]{text}.[/]"
    for finding in status.findings:
        text = escape(words.shorten_ids(finding.sentence))
        yield Row.of("[red]![/] ", f"{text} → {escape(finding.remedy)}")
        yield f"  {finding.page}"
        yield from (Whole(f"  [bold]{escape(typed)}[/]") for typed in finding.commands)
