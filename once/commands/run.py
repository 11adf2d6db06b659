"""`once run`: a file of events through the real template on a local stack, and a report of it."""

import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Self

import click
from botocore.exceptions import BotoCoreError
from rich.console import RenderableType
from rich.markup import escape
from rich.status import Status
from rich.table import Table

from once.cli_options import Output, standalone
from once.errors import OnceError
from once.genesys.server import GenesysServer
from once.lines import Line, read_lines
from once.local.options import SCRIPT, SET
from once.local.pipe import Delivery as PipeDelivery
from once.local.pipe import Ending
from once.local.stack import local_stack
from once.model import keys, words
from once.model.families import windowed
from once.model.outcomes import MEANING, Outcome
from once.model.reasons import describe
from once.model.report import ActionReport, Key, LineReport, Report
from once.project import EXAMPLE, say_how_to_type_once
from once.stack.delivery import Delivery, Standing
from once.stack.facade import Stack

# An event comes back after at most three minutes here, and half of it again.
_PATIENCE_SECONDS = 300.0
_LISTED_LINES = 100
_STILL_SECONDS = 10  # usually the next line is settled sooner
_BAR_WIDTH = 30
_MOST_FAILURES = 3
_SHORT = {
    Outcome.PROCESSED: "acted on, each once",
    Outcome.DUPLICATE: "skipped as copies",
    Outcome.STALE: "skipped as stale",
    Outcome.IGNORED: "ignored by the routes",
    Outcome.PARKED: "parked for a person",
}
_BURST = (
    "Sent all together, newer states overtook older ones, which are then stale. Without --burst "
    "each waits for the one before, as they happened."
)


@standalone("once run events.jsonl --report report.json")
@click.argument("events", required=False, type=click.Path(path_type=Path))
@click.option(
    "--report", type=click.Path(path_type=Path), help="Write the outcome of each line to this file."
)
@click.option(
    "--burst",
    is_flag=True,
    help="Send all lines together. Default: a copy or newer state is sent when the one before it "
    "is settled.",
)
@click.option(
    "--patience",
    metavar="SECONDS",
    type=click.FloatRange(min=1),
    default=_PATIENCE_SECONDS,
    help="End if no line was settled for this long.",
)
@SCRIPT
@SET
def command(
    output: Output,
    events: Path | None,
    report: Path | None,
    burst: bool,
    patience: float,
    script: Path | None,
    parameters: dict[str, str],
) -> None:
    """Send EVENTS, a file or folder in any known form, through the real template on a local stack,
    and show the outcome of each. Default: the example story.

    The destination behaves as --destination says, or EVENTS.destination.json if it exists.
    """
    path = events or EXAMPLE
    lines = read_lines(path)
    beside = path.with_suffix(".destination.json")
    if script is None and beside.is_file():
        script = beside
    if report is not None:
        _check_writable(report)
    failures = _Failures()
    with (
        _Progress(output, len(lines)) as progress,
        local_stack(parameters, script, observer=failures.note, step=progress.step) as stack,
    ):

        def is_over(standing: Standing) -> bool:
            failures.check()
            progress.show(standing)
            return standing.still_seconds > patience

        delivery = Delivery(Stack.at(stack.describe()), is_over)
        progress.step("sending, and waiting until all is settled")
        started = time.monotonic()
        try:
            if burst:
                delivery.send(lines)
                delivery.wait_for(lines)
            else:
                delivery.send_in_steps(lines)
        except BotoCoreError as error:
            raise OnceError(
                f"The local stack stopped answering: {error}\n{stack.aws.log_tail()}"
            ) from error
        seconds = time.monotonic() - started
        result = _make_report(lines, delivery, stack.destination, seconds)
    output.say(_view(result, stack.destination, burst))
    if report is not None:
        try:
            report.write_text(result.to_json())
        except OSError as error:
            raise OnceError(f"Cannot write the report to {report}: {error.strerror}.") from error
    if events is None:
        output.say(_next_steps())
    output.exit(0 if result.settled else 1)


class _Failures:
    """Ends a run whose state machine fails on everything."""

    def __init__(self) -> None:
        self._details: list[str] = []
        self._is_armed = True

    def note(self, delivery: PipeDelivery) -> None:
        if delivery.ending is Ending.TARGET_FAILED:
            self._details.append(delivery.detail)
        elif delivery.deletes:
            self._is_armed = False

    def check(self) -> None:
        if self._is_armed and len(self._details) >= _MOST_FAILURES:
            raise OnceError(
                f"The state machine has failed {len(self._details)} times and settled nothing: no "
                f"event gets through it. Its last error: {self._details[-1]}"
            )


class _Progress:
    """A line that moves on a terminal, and is gone at the end; finished steps stay."""

    def __init__(self, output: Output, total: int) -> None:
        self._console, self._total = output.console, total
        self._status = Status("", console=output.console)
        self._doing: str | None = None
        self._since = 0.0

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._status.stop()
        if kind is None:
            self._finish()

    def step(self, text: str) -> None:
        self._finish()
        self._doing, self._since = text, time.monotonic()
        self._status.update(f"{text} …")

    def show(self, standing: Standing) -> None:
        done = round(_BAR_WIDTH * standing.settled / self._total)
        text = f"[green]{'━' * done}[/][dim]{'━' * (_BAR_WIDTH - done)}[/] "
        text += f"{standing.settled} of {self._total} settled"
        if standing.waiting:
            text += f", {standing.waiting} put back"
        if standing.still_seconds >= _STILL_SECONDS:
            text += f", none for {standing.still_seconds:.0f} s"
        self._status.update(text)

    def _finish(self) -> None:
        if self._doing is not None:
            seconds = time.monotonic() - self._since
            self._console.print(
                f"[green]✓[/] {self._doing} [dim]{seconds:.1f} s[/]", highlight=False
            )


def _make_report(
    lines: list[Line], delivery: Delivery, destination: GenesysServer, seconds: float
) -> Report:
    events = [_report_line(line, delivery) for line in lines]
    requests = defaultdict(list)
    for entry in destination.log:
        if entry.facts:
            requests[entry.facts.get("idempotencyKey", "")].append(entry)
    actions = []
    for key, entries in requests.items():
        acts = [entry for entry in entries if entry.acted]
        # The owner ends with the message that holds the claim.
        owner = (acts or entries[-1:])[0].headers.get("x-once-execution", "")
        actions.append(
            ActionReport(
                idempotency_key=key,
                line=delivery.line_of(owner.rpartition("#")[2]),
                calls=len(entries),
                effects=int(bool(acts)),
            )
        )
    return Report(
        received=len(lines),
        outcomes=dict(Counter(event.outcome for event in events)),
        events=events,
        actions=sorted(actions, key=lambda action: action.line or 0),
        seconds=round(seconds, 3),
    )


def _report_line(line: Line, delivery: Delivery) -> LineReport:
    record = delivery.end_of(line)
    reason = record.reason if record else "LEFT_THE_QUEUE_WITHOUT_AN_OUTCOME"
    if not delivery.is_sent(line):
        reason = "NOT_SENT"
    earlier = delivery.line_of(record.met) if record and record.met else None
    return LineReport(
        line=line.number,
        outcome=record.outcome if record else Outcome.RETRY,
        key=Key(pk=str(record.pk), sk=str(record.sk)) if record and record.key else None,
        reason=reason,
        because_of_line=earlier if earlier != line.number else None,
    )


def _view(report: Report, destination: GenesysServer, is_burst: bool) -> Iterator[RenderableType]:
    table = Table(
        title=f"{words.count(report.received, 'message')} in {report.seconds:.1f} s",
        title_justify="left",
    )
    table.add_column("Outcome")
    table.add_column("Messages", justify="right")
    table.add_column("What it means")
    for outcome in Outcome:
        if number := report.outcomes.get(outcome, 0):
            table.add_row(outcome, str(number), MEANING[outcome])
    yield table
    skipped = [event for event in report.events if event.outcome is not Outcome.PROCESSED]
    if skipped and len(report.events) <= _LISTED_LINES:
        yield _list_skipped(skipped)
    yield _count_requests(report, destination)
    reasons = {event.reason for event in report.events}
    passed = {
        keys.Key.of_row(event.key.pk, event.key.sk).family
        for event in report.events
        if event.key and event.reason in ("NEWER_STATE", "UNCHANGED")
    }
    if passed - windowed():
        yield 'To act on every change of a state: order = "every" on its route (docs/routes.md).'
    if is_burst and "NEWER_STATE" in reasons:
        yield _BURST
    style = "bold green" if report.settled else "bold red"
    yield f"[{style}]{_judge(report)}[/]"


def _list_skipped(skipped: list[LineReport]) -> Table:
    table = Table(title="Why messages were not acted on", title_justify="left")
    table.add_column("Line", justify="right")
    table.add_column("Outcome")
    table.add_column("Why")
    for event in skipped:
        why = describe(event.reason) or "no reason is recorded"
        if event.because_of_line is not None:
            why += f": line {event.because_of_line}"
        table.add_row(str(event.line), event.outcome, escape(why))
    return table


def _count_requests(report: Report, destination: GenesysServer) -> Table:
    table = Table(title="What the destination received", title_justify="left")
    table.add_column("Response")
    table.add_column("Requests", justify="right")
    responses: Counter[str] = Counter()
    for entry in destination.log:
        if not entry.facts:
            continue
        if entry.status is None:
            response = "no response" + (", after it had acted" if entry.acted else "")
        else:
            response = f"{entry.status} {HTTPStatus(entry.status).phrase}"
            response += ", already done" if entry.repeated else ""
        responses[response] += 1
    for response, number in sorted(responses.items()):
        table.add_row(response, str(number))
    table.add_section()
    table.add_row("events acted on", str(sum(action.effects for action in report.actions)))
    several = sum(action.effects > 0 and action.calls > 1 for action in report.actions)
    table.add_row("of these, after several requests", str(several))
    return table


def _judge(report: Report) -> str:
    if not report.settled:
        text = f"{report.outcomes[Outcome.RETRY]} of {report.received} messages were not settled."
        if any(event.reason == "CALL_FAILED" for event in report.events):
            text += (
                " An event that always fails is given up only if other requests succeed: "
                "send more lines, or use --set MaxTries=1."
            )
        return text
    numbers = [
        f"{number} {_SHORT[outcome]}"
        for outcome in Outcome
        if (number := report.outcomes.get(outcome, 0))
    ]
    if report.received == 1:
        return f"The message is accounted for: {', '.join(numbers)}."
    return f"All {report.received} messages are accounted for: {', '.join(numbers)}."


def _next_steps() -> Iterator[str]:
    """Yields what to type next for those who have tried only the example yet."""
    if line := say_how_to_type_once():
        yield f"[dim]To put the command once on your PATH: {escape(line)}[/]"
    yield "[dim]The events that were sent, line by line: once example[/]"
    yield "[dim]Your own events: once run FILE. Your own server: once dev. All commands: once[/]"


def _check_writable(path: Path) -> None:
    """Refuses a report that could not be written at the end of the run."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise OnceError(f"Cannot write the report to {path}: its folder does not exist.")
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise OnceError(
            f"Cannot write the report to {path}: it is a folder, or not yours to write."
        )
