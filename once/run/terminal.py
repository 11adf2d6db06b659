"""What a run shows at the terminal: its steps while they last, and at the end what happened."""

import time
from collections import Counter
from http import HTTPStatus
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.status import Status
from rich.table import Table

from once.genesys.server import GenesysServer, Received
from once.operate import phrases as words
from once.outcomes import MEANING, Outcome
from once.project import EXAMPLE
from once.run.report import FaultsReport, LineReport, Report
from once.run.tracker import Standing

_LISTED_LINES = 100
# Usually the next one is settled sooner.
_STILL_SECONDS = 10
_SHORT = {
    Outcome.PROCESSED: "acted, each once",
    Outcome.DUPLICATE: "skipped as copies",
    Outcome.STALE: "skipped as out of date",
    Outcome.PARKED: "parked for a person",
}
# Of those that only a run tells, or that `once explain` tells by their cause.
_REASONS = {
    "SAME_KEY": "a copy of what had acted",
    "SAME_EVENT_ID": "the publisher gave it the id of what had acted",
    "COLLAPSED": "a copy of another message in its batch",
    "SETTLED_BEFORE": "its verdict from an earlier delivery",
    "NEWER_STATE": "a newer state had already passed",
    "NEWER_OCCURRENCE": "a newer occurrence had already passed",
    "NO_RULE_TOOK_IT": "no rule took it from the bus: see DetailTypes and SourcePrefix",
    "NOT_SENT": "the one before it, of the same subject, was not settled",
    "LEFT_THE_QUEUE_WITHOUT_AN_OUTCOME": "it left the queue and nothing says what became of it",
}


class Terminal:
    """A context manager: the line that moves is gone when it ends."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._status = Status("", console=console)
        self._doing: str | None = None
        self._since = 0.0

    def __enter__(self) -> Self:
        self._status.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._status.stop()
        if error is None:
            self._done()

    def step(self, what: str) -> None:
        self._done()
        self._doing, self._since = what, time.monotonic()
        self._status.update(f"{what} …")

    def progress(self, standing: Standing, total: int) -> None:
        waiting = ""
        if standing.handed_back:
            waiting = f", {standing.handed_back} handed back to the queue for a later attempt"
        still = ""
        if standing.still_seconds >= _STILL_SECONDS:
            still = f", none for {standing.still_seconds:.0f} s"
        self._status.update(
            f"{standing.sent} of {total} sent, {standing.settled} settled{still}{waiting} …"
        )

    def summary(self, report: Report, destination: GenesysServer) -> None:
        self._console.print(_outcomes(report))
        if set(report.outcomes) != {Outcome.PROCESSED} and len(report.events) <= _LISTED_LINES:
            self._console.print(_skipped(report))
        self._console.print(_received(report, destination))
        if report.faults is not None:
            self._console.print(_faults(report.faults))
        self._console.print(_verdict(report), style="bold green" if report.settled else "bold red")

    def next_steps(self) -> None:
        """For whoever has tried the example, and nothing else yet."""
        self._console.print(
            f"What came in, line by line: {EXAMPLE}\n"
            "Your own events: once run FILE. A stack that stays up: once up. All commands: once",
            style="dim",
            highlight=False,
            soft_wrap=True,
        )

    def _done(self) -> None:
        if self._doing is not None:
            seconds = time.monotonic() - self._since
            self._console.print(
                f"[green]✓[/] {self._doing} [dim]{seconds:.1f} s[/]", highlight=False
            )


def _outcomes(report: Report) -> Table:
    table = Table(
        title=f"{words.events(report.received)} in {report.seconds:.1f} s", title_justify="left"
    )
    table.add_column("Outcome")
    table.add_column("Events", justify="right")
    table.add_column("What it means")
    for outcome in Outcome:
        if count := report.outcomes.get(outcome, 0):
            table.add_row(outcome, str(count), MEANING[outcome])
    return table


def _skipped(report: Report) -> Table:
    table = Table(title="Why events did not act", title_justify="left")
    table.add_column("Line", justify="right")
    table.add_column("Outcome")
    table.add_column("Why")
    for event in report.events:
        if event.outcome != Outcome.PROCESSED:
            table.add_row(str(event.line), event.outcome, _why(event))
    return table


def _why(event: LineReport) -> str:
    reason = words.reason(event.reason) or "no reason on record"
    if event.reason == "COLLAPSED" and event.outcome != Outcome.DUPLICATE:
        reason = "shares the verdict of its copy"
    elif event.reason in _REASONS:
        reason = _REASONS[event.reason]
    if event.because_of_line is None:
        return escape(reason)
    return escape(f"{reason}: line {event.because_of_line}")


def _received(report: Report, destination: GenesysServer) -> Table:
    table = Table(title="What the destination received", title_justify="left")
    table.add_column("Answer")
    table.add_column("Requests", justify="right")
    requests = [entry for entry in destination.log if entry.facts]
    for answer, count in sorted(Counter(map(_answer, requests)).items()):
        table.add_row(answer, str(count))
    table.add_section()
    table.add_row("events that acted", str(sum(action.effects for action in report.actions)))
    table.add_row("of them asked more than once", str(_repeated(report)))
    return table


def _faults(faults: FaultsReport) -> Table:
    table = Table(title=f"What went wrong on purpose (seed {faults.seed})", title_justify="left")
    table.add_column("Fault")
    table.add_column("Times", justify="right")
    for fault, times in faults.happened.items():
        table.add_row(fault, str(times))
    table.add_section()
    unexplained = [act for act in faults.repeated_acts if not act.because]
    table.add_row("asked to act again, for its answer was lost", str(len(faults.repeated_acts)))
    table.add_row("the same, and nothing explains it", str(len(unexplained)))
    return table


def _answer(entry: Received) -> str:
    if entry.status is None:
        return "no answer" + (", after it had acted" if entry.acted else "")
    name = HTTPStatus(entry.status).phrase
    return f"{entry.status} {name}" + (", already done before" if entry.repeated else "")


def _repeated(report: Report) -> int:
    return sum(action.effects > 0 and action.calls > 1 for action in report.actions)


def _verdict(report: Report) -> str:
    if not report.settled:
        count = report.outcomes[Outcome.RETRY]
        where = f", {report.dead_letters} of them in a dead letter queue" * bool(
            report.dead_letters
        )
        said = f"{count} of {report.received} events were not settled{where}."
        if any(event.reason == "CALL_FAILED" for event in report.events):
            said += (
                " An event that always fails is given up only after others were answered: "
                "send more lines, or give it up at once with --set MaxTries=1."
            )
        return said
    counted = [
        f"{count} {_SHORT[outcome]}"
        for outcome in Outcome
        if (count := report.outcomes.get(outcome, 0))
    ]
    if report.received == 1:
        return f"The event is accounted for: {', '.join(counted)}."
    return f"All {report.received} events are accounted for: {', '.join(counted)}."
