"""The report on a terminal: what was found and what to do; the page has the rest."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from once.audit.report import AuditReport, Plan
from once.outcomes import MEANING
from once.screen import showable

_MOST_ROWS = 12


def view(report: AuditReport) -> Iterator[RenderableType]:
    yield from _listed("What was found", report.conclusions)
    yield _heading("Events")
    outcomes = _table("outcome", "events", "")
    for outcome, meaning in MEANING.items():
        if outcome in report.outcomes:
            outcomes.add_row(outcome.value, f"{report.outcomes[outcome]:,}", meaning)
    yield outcomes
    if report.late_examples:
        late = f"{report.out_of_order:,} late, e.g. {report.late_examples[0]}"
        yield Padding(Text(showable(late)), (0, 0, 0, 1))
    if report.copy_kinds:
        yield _heading("Who makes the copies")
        kinds = _table("they have", "copies", "made by", "")
        for kind in report.copy_kinds:
            examples = "; ".join(kind.examples[:1])
            kinds.add_row(kind.what, f"{kind.count:,}", kind.who, f"e.g. {examples}")
        yield kinds
    if report.rivals:
        yield _heading("What the usual ways would have done")
        rivals = _table("way", "acted too often", "wrongly skipped", "overwrote", "unreadable")
        for rival in report.rivals:
            more = f" to {rival.too_often + rival.more_in_a_race:,}" if rival.more_in_a_race else ""
            rivals.add_row(
                rival.title,
                f"{rival.too_often:,}{more}",
                *(f"{n:,}" for n in (rival.wrongly_skipped, rival.overwrote, rival.unreadable)),
            )
        yield rivals
    if report.broken:
        yield _heading("Without an event")
        broken = _table("reason", "records", "", "for example")
        for one in report.broken:
            broken.add_row(one.reason, f"{one.count:,}", one.detail, "; ".join(one.examples))
        yield broken
    troubled = [file for file in report.files if file.trouble]
    if troubled:
        yield from _listed(
            "Files", [f"{file.name} {file.trouble}" for file in troubled[:_MOST_ROWS]]
        )
    yield from _listed("What to do", report.advice)
    if report.plan:
        yield from _listed("Traffic, cost, capacity", _planned(report.plan))
        yield _heading("To deploy with")
        for name, value in report.plan.parameters.items():
            yield Text(showable(f"{name}={value}"), overflow="fold")


def _planned(plan: Plan) -> list[str]:
    traffic = f"About {plan.events_per_month:,} events a month at this rate"
    if plan.cost_per_month is not None:
        traffic += f", for ${plan.cost_per_month:,.0f} a month on AWS at list price"
    found = [
        f"{traffic}.",
        f"The busiest minute has {plan.peak_per_minute:,} records and asks for "
        f"{plan.acts_per_minute:,} calls.",
    ]
    short = [quota for quota in plan.quotas if not quota.enough]
    found += [
        f"{one.name}: by default {one.events_per_second:,} events a second, too few for the "
        f"busiest minute. {one.ask}"
        for one in short
    ]
    if plan.quotas and not short:
        found.append("No default quota of AWS is too low for that.")
    return found


def _listed(heading: str, lines: list[str]) -> Iterator[RenderableType]:
    if lines:
        yield _heading(heading)
        for line in lines:
            yield Padding(Text(showable(f"• {line}")), (0, 0, 0, 1))


def _heading(text: str) -> RenderableType:
    return Text(f"\n{text}", style="bold")


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 1))
    table.add_column(first)
    for at, heading in enumerate(others):
        table.add_column(heading, justify="right" if at == 0 or heading in _NUMBERS else "left")
    return table


_NUMBERS = {"wrongly skipped", "overwrote", "unreadable"}
