"""`once routes`: the operator's routes.toml, checked and tried before it is deployed."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
from once_enrichment.handler import normalise
from once_enrichment.routes import IGNORE, Routes
from pydantic import Field
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from once.cli_options import ATTENTION, Output, standalone
from once.errors import OnceError
from once.lines import Captured, read_all
from once.model import Model, words
from once.model.rule import Event, Rows
from once.project import decode, find_routes, read_routes
from once.routes.check import check

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_MOST_EXAMPLES = 3


command = click.Group("routes", help="Check which events are acted on, and how.")


@standalone("once routes check")
@click.argument("file", type=_FILE, default=find_routes)
def check_routes(output: Output, file: Path) -> None:
    """Name each wrong or doubtful line; exit code 1 if one is wrong, 3 if one is doubtful."""
    findings = check(decode(file))
    output.say(
        escape(f"{file}:{f.line}: {'' if f.is_error else 'doubtful: '}{f.text}") for f in findings
    )
    if any(finding.is_error for finding in findings):
        output.exit(1)
    output.say([escape(f"{file}: no line is wrong")])
    if findings:
        output.exit(ATTENTION)


class RouteTaken(Model):
    """The events of the capture that one route took."""

    name: str
    action: str = Field(description="The id of a data action, `send` or `none`.")
    events: int = 0
    acted: int = Field(default=0, description="Those for which a request would be sent.")
    expired: int = Field(default=0, description="Those that arrived older than its `max_age`.")
    without_facts: int = Field(default=0, description="Those in which none of its facts is found.")


class RouteChange(Model):
    """Events that end otherwise with the other file."""

    before: str = Field(description="An action, or the reason why nothing is sent.")
    after: str = Field(description="The same with the other file.")
    events: int = 0
    examples: list[str] = Field(default=[], description="Keys of some of these events.")


class RoutesTrial(Model):
    """The result of a file of routes for a capture."""

    events: int = Field(default=0, description="The events in the capture.")
    unreadable: int = Field(
        default=0, description="Records without an event; they would be parked."
    )
    undated: int = Field(
        default=0,
        description="Events of a route with `max_age` that have no time of arrival in the capture: "
        "none of them expires.",
    )
    routes: list[RouteTaken] = Field(description="The routes in the order of the file.")
    changes: list[RouteChange] = Field(default=[], description="Empty without another file.")


@standalone("once routes try events.jsonl", answers=RoutesTrial)
@click.argument("capture", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--routes", "file", type=_FILE, default=find_routes, help="The file to try.")
@click.option(
    "--against", type=_FILE, help="Compare: show the events that this file would treat otherwise."
)
def try_routes(output: Output, capture: tuple[Path, ...], file: Path, against: Path | None) -> None:
    """Show which events of a capture each route would take, and for which it acts.

    CAPTURE is a file or folder of events, an export of a log, or - for standard input.
    """
    routes, other = read_routes(file), read_routes(against) if against else None
    answer = _try(read_all(capture), routes, other)
    if not answer.events:
        names = ", ".join(map(str, capture))
        raise OnceError(f"There is no event in {names}. To see why: once explain --event FILE")
    output.answer(answer, _view(answer, against))


command.add_command(check_routes, "check")
command.add_command(try_routes, "try")


def _try(records: Iterable[Captured], routes: Routes, other: Routes | None) -> RoutesTrial:
    """Counts over a capture. Each file has the claims that its events would leave."""
    rows, other_rows = Rows(), Rows()
    taken_by = {r.name: RouteTaken(name=r.name, action=r.action) for r in routes.routes}
    changes: dict[tuple[str, str], RouteChange] = {}
    trial = RoutesTrial(routes=[*taken_by.values()])
    for captured in records:
        element = normalise(captured.record, routes)
        if "route" not in element:
            trial.unreadable += "broken" in element  # else it is a canary
            continue
        end = _settle(captured, element, rows)
        route = element["route"]
        taken = taken_by[route["name"]]
        taken.events += 1
        taken.acted += end == route["action"]
        taken.expired += end == "EXPIRED"
        taken.without_facts += "no fact of its route" in element.get("note", "")
        trial.events += 1
        trial.undated += "expiresAtMs" in element and not captured.arrived_ms
        if other is None:
            continue
        element = normalise(captured.record, other)
        after = _settle(captured, element, other_rows)
        has_same_inputs = route.get("inputs") == element["route"].get("inputs")
        if end == after == route["action"] and not has_same_inputs:
            after = f"{after} with other inputs"
        if end != after:
            change = changes.setdefault((end, after), RouteChange(before=end, after=after))
            change.events += 1
            key = f"{element['key']['pk']}/{element['key']['sk']}"
            change.examples = [*change.examples, key][:_MOST_EXAMPLES]
    trial.changes = sorted(changes.values(), key=lambda change: -change.events)
    return trial


def _settle(captured: Captured, element: dict[str, Any], rows: Rows) -> str:
    """Returns the action of an element, or the reason why nothing is sent."""
    # Without a time of arrival nobody knows how old an event was.
    now_ms = captured.arrived_ms or element["occurredAtMs"]
    reason = rows.settle(Event.of(element), now_ms).reason
    action: str = element["route"]["action"]
    return action if reason == "ACTED" else reason


def _view(answer: RoutesTrial, against: Path | None) -> Iterator[RenderableType]:
    unreadable = f", and {answer.unreadable:,} that cannot be read" if answer.unreadable else ""
    yield f"{words.count(answer.events, 'message')} with an event{unreadable}."
    table = Table("route", "action", box=None, pad_edge=False)
    for column in ("taken", "acts", "expired"):
        table.add_column(column, justify="right")
    for route in answer.routes:
        action = "ignored" if route.action == IGNORE else route.action
        counts = (f"{number:,}" for number in (route.events, route.acted, route.expired))
        table.add_row(escape(route.name), escape(action), *counts)
    yield table
    for route in answer.routes:
        if route.without_facts:
            text = f"Route {route.name}: {route.without_facts:,} events have none of its facts"
            yield f"[yellow]{escape(text)}, so their whole body counts.[/]"
    if answer.undated:
        undated = words.count(answer.undated, "message")
        yield f"max_age was not applied to {undated}: the capture has no time of arrival."
    if against is not None:
        differ = sum(change.events for change in answer.changes)
        yield escape(f"Events that end otherwise with {against}: {differ:,}.")
    for change in answer.changes:
        ends = f"{change.before} -> {change.after}"
        yield escape(f"  {change.events:,} {ends}, such as {change.examples[0]}")
