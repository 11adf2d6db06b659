"""Writes the report as one page for screen and paper, which loads nothing from elsewhere."""

from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from once.audit.advice import duration, percent, rough
from once.audit.report import AuditReport
from once.model.outcomes import MEANING, Outcome

_MOST_ROWS = 25


class Part(NamedTuple):
    """A piece of a bar, in parts of a hundred."""

    kind: str
    start: float
    length: float
    title: str


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
        report=report,
        split=_split(report.outcomes, report.received),
        distances=_lengths(report.distances.counts if report.distances else {}),
        differences=_lengths(report.differences),
        kinds=_lengths({kind.kind: kind.count for kind in report.copy_kinds}),
        percent=percent,
        outcomes=MEANING,
        most_rows=_MOST_ROWS,
    )


def _split(outcomes: Mapping[Outcome, int], whole: int) -> list[Part]:
    """Returns one bar of all outcomes."""
    counts = [(outcome, outcomes[outcome]) for outcome in Outcome if outcomes.get(outcome)]
    ends = accumulate(100 * count / whole for _, count in counts)
    return [
        Part(outcome.value, end - 100 * count / whole, 100 * count / whole, f"{count:,}")
        for (outcome, count), end in zip(counts, ends, strict=True)
    ]


def _lengths(counts: Mapping[str, int]) -> dict[str, float]:
    """Returns bars side by side, the longest a hundred; a small count stays visible."""
    most = max(counts.values(), default=0)
    return {name: max(0.6, 100 * n / most) if n else 0 for name, n in counts.items()}
