"""Shows the report: on one screen, the verdict first, or all of it as a page for screen and paper,
which loads nothing from elsewhere."""

from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from once.audit.advice import duration, percent, rough
from once.audit.report import AuditReport
from once.model import words
from once.model.reasons import MEANING
from once.screen import showable

_MOST_ROWS = 25
_MOST_LINES = 8  # under a heading: the report fits a screen


def view(report: AuditReport) -> Iterator[RenderableType]:
    verdict, *details = report.conclusions
    yield Text(showable(verdict), style="bold")
    for reason in report.broken[:_MOST_LINES]:
        example = reason.examples[0]
        details.append(f"{reason.detail} ({reason.reason}): {reason.count:,}, e.g. {example}.")
    troubled = [file for file in report.files if file.trouble]
    details += [f"{file.name} {file.trouble}." for file in troubled[:_MOST_LINES]]
    yield from _list("", details)
    yield from _list("What to do", report.advice)
    if report.plan:
        plan = report.plan
        traffic = [
            f"About {rough(plan.events_per_month)} events per month at this rate.",
            f"The busiest minute needs {words.count(plan.acts_per_minute, 'request')}.",
        ]
        yield from _list("Traffic", traffic)
        yield Text("\nParameters to deploy with", style="bold")
        for name, value in plan.parameters.items():
            yield Text(showable(f"{name}={value}"), overflow="fold")


def _list(heading: str, lines: list[str]) -> Iterator[RenderableType]:
    if lines and heading:
        yield Text(f"\n{heading}", style="bold")
    for line in lines[:_MOST_LINES]:
        yield Padding(Text(showable(f"• {line}")), (0, 0, 0, 1))
    if len(lines) > _MOST_LINES:
        yield Padding(
            Text(f"{len(lines) - _MOST_LINES} more: once audit --html FILE shows all"), (0, 0, 0, 3)
        )


def write_page(report: AuditReport) -> str:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": lambda value: f"{value:,}",
        "duration": duration,
        "rough": rough,
        "moment": lambda text: text[:16].replace("T", " "),
    }
    return environment.get_template("page.html.j2").render(
        report=report, percent=percent, outcomes=MEANING, most_rows=_MOST_ROWS
    )
