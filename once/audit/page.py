"""The report as one page: nothing to load from elsewhere, for paper, phone, light and dark."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from once.audit.advice import duration, percent
from once.audit.report import AuditReport, Share
from once.outcomes import MEANING, Outcome

_MOST_BARS = 72
_MOST_ROWS = 25
_HOUR_STEPS = (1, 2, 3, 6, 12, 24, 48, 168, 720)


class Part(NamedTuple):
    """A piece of a bar, in parts of a hundred."""

    kind: str
    start: float
    length: float
    title: str


class Column(NamedTuple):
    label: str
    parts: list[Part]


def page(report: AuditReport) -> str:
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
        "rough": lambda value: f"{round(value, 3 - len(str(value))):,}",
        "moment": lambda text: text[:16].replace("T", " "),
    }
    template = environment.get_template("page.html.j2")
    columns = _columns(report.hours)
    return template.render(
        report=report,
        split=_split(report.outcomes, report.received),
        columns=columns,
        ticks=_ticks(columns),
        tallest=_tallest(report.hours),
        distances=_lengths(report.distances.counts if report.distances else {}),
        differences=_lengths(report.differences),
        kinds=_lengths({kind.kind: kind.count for kind in report.copy_kinds}),
        percent=percent,
        outcomes=MEANING,
        most_rows=_MOST_ROWS,
        wrong=_wrong(report),
    )


def _split(outcomes: Mapping[Outcome, int], whole: int) -> list[Part]:
    """One bar of all outcomes."""
    counts = [(outcome, outcomes[outcome]) for outcome in Outcome if outcomes.get(outcome)]
    ends = accumulate(100 * count / whole for _, count in counts)
    return [
        Part(outcome.value, end - 100 * count / whole, 100 * count / whole, f"{count:,}")
        for (outcome, count), end in zip(counts, ends, strict=True)
    ]


def _lengths(counts: Mapping[str, int]) -> dict[str, float]:
    """Of bars side by side, the longest a hundred. What is there at all is seen."""
    most = max(counts.values(), default=0)
    return {name: max(0.6, 100 * n / most) if n else 0 for name, n in counts.items()}


def _columns(hours: Sequence[Share]) -> list[Column]:
    """Events by hour, or by as many hours as let the picture stay readable."""
    merged = _merged(hours)
    most = max((share.received for share in merged), default=0)
    columns = []
    for share in merged:
        parts, foot = [], 0.0
        for outcome in Outcome:
            count = share.outcomes.get(outcome, 0)
            if count:
                length = 100 * count / most
                title = f"{share.name[:16].replace('T', ' ')}: {count:,} {outcome.value}"
                parts.append(Part(outcome.value, 100 - foot - length, length, title))
                foot += length
        columns.append(Column(share.name, parts))
    return columns


def _tallest(hours: Sequence[Share]) -> tuple[int, int]:
    """What the tallest column counts, and how many hours a column is."""
    return max((share.received for share in _merged(hours)), default=0), _hours_of(hours)


def _hours_of(hours: Sequence[Share]) -> int:
    span = _hour(hours[-1]) - _hour(hours[0]) + 1 if hours else 0
    return next((step for step in _HOUR_STEPS if span <= step * _MOST_BARS), _HOUR_STEPS[-1])


def _merged(hours: Sequence[Share]) -> list[Share]:
    """Every stretch from the first to the last, the empty ones too."""
    if not hours:
        return []
    step = _hours_of(hours)
    first, last = _hour(hours[0]) // step, _hour(hours[-1]) // step
    found: dict[int, dict[Outcome, int]] = {
        at: {} for at in range(max(first, last - 2 * _MOST_BARS), last + 1)
    }
    for share in hours:
        into = found.get(_hour(share) // step, {})
        for outcome, count in share.outcomes.items():
            into[outcome] = into.get(outcome, 0) + count
    return [
        Share(name=_name(at * step), received=sum(outcomes.values()), outcomes=outcomes)
        for at, outcomes in found.items()
    ]


def _ticks(columns: Sequence[Column]) -> list[str]:
    """The times under the picture: its beginning, its middle, its end."""
    if not columns:
        return []
    places = sorted({0, len(columns) // 2, len(columns) - 1})
    return [columns[at].label[:16].replace("T", " ") for at in places]


def _wrong(report: AuditReport) -> dict[str, list[Part]]:
    """For each rival a bar of its mistakes, on one scale for all."""
    totals = {
        one.letter: one.too_often + one.wrongly_skipped + one.overwrote for one in report.rivals
    }
    most = max(totals.values(), default=0) or 1
    bars = {}
    for one in report.rivals:
        parts, start = [], 0.0
        for kind, count in (
            ("DUPLICATE", one.too_often),
            ("PARKED", one.wrongly_skipped),
            ("STALE", one.overwrote),
        ):
            length = 100 * count / most
            parts.append(Part(kind, start, length, f"{count:,}"))
            start += length
        bars[one.letter] = parts
    return bars


def _hour(share: Share) -> int:
    return int(datetime.fromisoformat(share.name).timestamp()) // 3_600


def _name(hour: int) -> str:
    return datetime.fromtimestamp(hour * 3_600, UTC).isoformat(timespec="seconds")
