"""Shows a run at the terminal: its steps, and the result at the end."""

import time
from collections import Counter
from http import HTTPStatus
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.status import Status
from rich.table import Table

from once.genesys.server import GenesysServer
from once.operate import phrases as words
from once.outcomes import MEANING, Outcome
from once.project import say_how_to_type_once
from once.reasons import describe
from once.run.report import Report
from once.run.tracker import Standing

_LISTED_LINES = 100
# Usually the next one is settled sooner.
_STILL_SECONDS = 10
_SHORT = {
    Outcome.PROCESSED: "acted on, each once",
    Outcome.DUPLICATE: "skipped as copies",
    Outcome.STALE: "skipped as stale",
    Outcome.IGNORED: "ignored by the routes",
    Outcome.PARKED: "parked for a person",
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

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._status.stop()
        if kind is None:
            self._done()

    def step(self, what: str) -> None:
        self._done()
        self._doing, self._since = what, time.monotonic()
        self._status.update(f"{what} …")

    def progress(self, standing: Standing, total: int) -> None:
        waiting = ""
        if standing.returned:
            waiting = f", {standing.returned} returned to the queue for a later attempt"
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
        self._console.print(_verdict(report), style="bold green" if report.settled else "bold red")

    def next_steps(self) -> None:
        """Shows what to type next to those who have tried only the example yet."""
        if line := say_how_to_type_once():
            self._say_dim(f"To put the command once on your PATH: {line}")
        self._say_dim("The events that were sent, line by line: once example")
        self._say_dim(
            "Your own events: once run FILE. With your own server: once dev. All commands: once"
        )

    def _say_dim(self, text: str) -> None:
        self._console.print(text, style="dim", highlight=False, soft_wrap=True, markup=False)

    def _done(self) -> None:
        if self._doing is not None:
            seconds = time.monotonic() - self._since
            self._console.print(
                f"[green]✓[/] {self._doing} [dim]{seconds:.1f} s[/]", highlight=False
            )


def _outcomes(report: Report) -> Table:
    table = Table(
        title=f"{words.count_messages(report.received)} in {report.seconds:.1f} s",
        title_justify="left",
    )
    table.add_column("Outcome")
    table.add_column("Messages", justify="right")
    table.add_column("What it means")
    for outcome in Outcome:
        if count := report.outcomes.get(outcome, 0):
            table.add_row(outcome, str(count), MEANING[outcome])
    return table


def _skipped(report: Report) -> Table:
    table = Table(title="Why messages were not acted on", title_justify="left")
    table.add_column("Line", justify="right")
    table.add_column("Outcome")
    table.add_column("Why")
    for event in report.events:
        if event.outcome != Outcome.PROCESSED:
            why = describe(event.reason) or "no reason is recorded"
            if event.because_of_line is not None:
                why += f": line {event.because_of_line}"
            table.add_row(str(event.line), event.outcome, escape(why))
    return table


def _received(report: Report, destination: GenesysServer) -> Table:
    table = Table(title="What the destination received", title_justify="left")
    table.add_column("Response")
    table.add_column("Requests", justify="right")
    answers: Counter[str] = Counter()
    for entry in destination.log:
        if not entry.facts:
            continue
        if entry.status is None:
            answer = "no answer" + (", after it had acted" if entry.acted else "")
        else:
            answer = f"{entry.status} {HTTPStatus(entry.status).phrase}"
            answer += ", already done before" if entry.repeated else ""
        answers[answer] += 1
    for answer, count in sorted(answers.items()):
        table.add_row(answer, str(count))
    table.add_section()
    table.add_row("events acted on", str(sum(action.effects for action in report.actions)))
    several = sum(action.effects > 0 and action.calls > 1 for action in report.actions)
    table.add_row("of these, after several requests", str(several))
    return table


def _verdict(report: Report) -> str:
    if not report.settled:
        count = report.outcomes[Outcome.RETRY]
        said = f"{count} of {report.received} messages were not settled."
        if any(event.reason == "CALL_FAILED" for event in report.events):
            said += (
                " An event that always fails is given up only if other requests succeed: "
                "send more lines, or use --set MaxTries=1."
            )
        return said
    counted = [
        f"{count} {_SHORT[outcome]}"
        for outcome in Outcome
        if (count := report.outcomes.get(outcome, 0))
    ]
    if report.received == 1:
        return f"The message is accounted for: {', '.join(counted)}."
    return f"All {report.received} messages are accounted for: {', '.join(counted)}."
