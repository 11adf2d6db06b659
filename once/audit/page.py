"""Writes the report as one page for screen and paper, which loads nothing from elsewhere."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from once.audit.advice import duration, percent, rough
from once.audit.report import AuditReport
from once.model.reasons import MEANING

_MOST_ROWS = 25


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
