"""`once run`: a file of events through the real template on a local stack, and a report of it."""

import time
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

import click
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from once.cli_options import Output, standalone
from once.errors import OnceError
from once.genesys.server import Received
from once.lines import Line, read_lines
from once.local.stack import SCRIPT, SET, local_stack
from once.model import Model, words
from once.model.reasons import MEANING, SETTLED, Outcome, describe
from once.model.records import Key, windowed
from once.project import EXAMPLE, say_how_to_type_once
from once.screen import say
from once.stack.delivery import Delivery, Standing
from once.stack.facade import Stack

# An event comes back after at most three minutes here, and half of it again.
_PATIENCE_SECONDS = 300
_LISTED_LINES = 100
_STILL_SECONDS = 10  # usually the next line is settled sooner
_SHORT = {
    Outcome.PROCESSED: "acted on, each once",
    Outcome.DUPLICATE: "skipped as copies",
    Outcome.STALE: "skipped as stale",
    Outcome.IGNORED: "ignored by the routes",
    Outcome.PARKED: "parked for a person",
}
_BAR_WIDTH = 30


class LineReport(Model):
    """The outcome of one line of the file."""

    line: int
    """Its number in the file, from 1."""
    outcome: Outcome
    key: str | None
    """Null for a line that could not be read as an event."""
    reason: str | None
    because_of_line: int | None
    """If the line was skipped, the line whose claim or turn it met."""


class Report(Model):
    """The whole of a run."""

    received: int
    outcomes: dict[Outcome, int]
    events: list[LineReport]
    seconds: float

    @property
    def settled(self) -> bool:
        return set(self.outcomes) <= SETTLED


@standalone("once run events.jsonl --report report.json")
@click.argument("events", required=False, type=click.Path(path_type=Path))
@click.option(
    "--report",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write the outcome of each line to this file.",
)
@click.option(
    "--burst",
    is_flag=True,
    help="Send all lines together. Default: a copy or newer state is sent when the one before it "
    "is settled.",
)
@SCRIPT
@SET
def command(
    output: Output,
    events: Path | None,
    report: Path | None,
    burst: bool,
    script: Path | None,
    parameters: dict[str, str],
) -> None:
    """Send EVENTS, a file or folder in any known form, through the real template on a local stack,
    and show what became of them. Default: the example story.

    The destination behaves as --destination says, or a file beside EVENTS, such as
    events.destination.json for events.jsonl.
    """
    path = events or EXAMPLE
    lines = read_lines(path)
    beside = path.with_suffix(".destination.json")
    if script is None and beside.is_file():
        script = beside
    if report is not None and not report.absolute().parent.is_dir():
        raise OnceError(f"Cannot write the report to {report}: its folder does not exist.")
    with (
        local_stack(parameters, script, step=lambda text: say(f"{text} …")) as local,
        output.errors.status("sending …") as status,
    ):

        def is_over(standing: Standing) -> bool:
            status.update(_describe(standing, len(lines)))
            return standing.still_seconds > _PATIENCE_SECONDS

        delivery = Delivery(Stack.at(local.describe()), is_over)
        started = time.monotonic()
        if burst:
            delivery.send(lines)
            delivery.wait_for(lines)
        else:
            delivery.send_in_steps(lines)
        seconds = time.monotonic() - started
    reports = [_report_line(line, delivery) for line in lines]
    result = Report(
        received=len(lines),
        outcomes=dict(Counter(each.outcome for each in reports)),
        events=reports,
        seconds=round(seconds, 3),
    )
    output.say(_view(result, [entry for entry in local.destination.log if entry.facts]))
    if burst and any(each.reason == "NEWER_STATE" for each in reports):
        output.say(["Sent together, newer states overtook older ones, which are then stale."])
    if report is not None:
        report.write_text(result.model_dump_json(by_alias=True, indent=2) + "\n")
    if events is None:
        if line := say_how_to_type_once():
            output.say([f"[dim]To have the command `once` on your PATH: {escape(line)}[/]"])
        own = "Your own events: once run FILE. Your own server: once dev. All commands: once"
        output.say(["[dim]The events that were sent, line by line: once example[/]"])
        output.say([f"[dim]{own}[/]"])
    output.exit(0 if result.settled else 1)


def _describe(standing: Standing, total: int) -> str:
    done = round(_BAR_WIDTH * standing.settled / total)
    text = f"[green]{'━' * done}[/][dim]{'━' * (_BAR_WIDTH - done)}[/] "
    text += f"{standing.settled} of {total} settled"
    if standing.waiting:
        text += f", {standing.waiting} put back"
    if standing.still_seconds >= _STILL_SECONDS:
        text += f", none for {standing.still_seconds:.0f} s"
    return text


def _report_line(line: Line, delivery: Delivery) -> LineReport:
    record = delivery.end_of(line)
    reason = record.reason if record else "NOTHING_RECORDED"
    if not delivery.is_sent(line):
        reason = "NOT_SENT"
    earlier = delivery.line_of(record.met) if record and record.met else None
    return LineReport(
        line=line.number,
        outcome=record.outcome if record else Outcome.RETRY,
        key=str(record.key) if record and record.key else None,
        reason=reason,
        because_of_line=earlier if earlier != line.number else None,
    )


def _view(report: Report, requests: list[Received]) -> Iterator[RenderableType]:
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
    yield _count_requests(requests)
    passed = [event for event in report.events if event.reason in ("NEWER_STATE", "UNCHANGED")]
    keys = (Key.parse(event.key or "") for event in passed)
    if {key.family for key in keys if key} - windowed():
        yield 'To act on every change of a state: order = "every" on its route (docs/routes.md).'
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


def _count_requests(requests: list[Received]) -> Table:
    table = Table(title="What the destination received", title_justify="left")
    table.add_column("Response")
    table.add_column("Requests", justify="right")
    responses = Counter(map(_describe_response, requests))
    for response, number in sorted(responses.items()):
        table.add_row(response, str(number))
    table.add_section()
    by_key = Counter(request.facts.get("idempotencyKey") for request in requests)
    acted = {request.facts.get("idempotencyKey") for request in requests if request.acted}
    table.add_row("events acted on", str(len(acted)))
    table.add_row("of these, after failed requests", str(sum(by_key[key] > 1 for key in acted)))
    return table


def _describe_response(request: Received) -> str:
    if request.status is None:
        return "no response" + (", after it had acted" if request.acted else "")
    text = f"{request.status} {HTTPStatus(request.status).phrase}"
    return text + (", already done" if request.repeated else "")


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
