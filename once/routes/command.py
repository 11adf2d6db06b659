"""`once routes`: the operator's routes.toml, checked and tried before it is deployed."""

from collections.abc import Iterator
from pathlib import Path

import click
from once_enrichment.routes import IGNORE
from rich.console import RenderableType
from rich.markup import escape
from rich.table import Table

from once.cli_options import ATTENTION, Output, standalone
from once.errors import OnceError
from once.lines import Captured, Source, find_sources, read_records
from once.project import ROUTES, decode, read_routes
from once.routes import trial
from once.routes.check import check
from once.routes.trial import RoutesTrial

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


command = click.Group("routes", help="Check which events are acted on, and how.")


@standalone("once routes check")
@click.argument("file", type=_FILE, default=ROUTES)
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


@standalone("once routes try events.jsonl", answers=RoutesTrial)
@click.argument("capture", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--routes", "file", type=_FILE, default=ROUTES, help="The file to try.")
@click.option("--against", type=_FILE, help="Another file: which events end otherwise?")
def try_routes(output: Output, capture: tuple[Path, ...], file: Path, against: Path | None) -> None:
    """Show which events of a capture each route would take, and for which it acts.

    CAPTURE is a file or folder of events, an export of a log, or - for standard input.
    """
    routes, other = read_routes(file), read_routes(against) if against else None
    sources = find_sources(capture)
    answer = trial.try_routes(_read_all(sources), routes, other)
    if not answer.events:
        names = ", ".join(source.name for source in sources)
        raise OnceError(f"There is no event in {names}. To see why: once explain --event FILE")
    output.answer(answer, _view(answer, against))


command.add_command(check_routes, "check")
command.add_command(try_routes, "try")


def _read_all(sources: list[Source]) -> Iterator[Captured]:
    for source in sources:
        yield from read_records(source)
        if source.trouble:
            raise OnceError(f"{source.path} {source.trouble}.")


def _view(answer: RoutesTrial, against: Path | None) -> Iterator[RenderableType]:
    yield f"Events: {answer.events:,}. Records without an event: {answer.unreadable:,}."
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
        yield f"Events without a time of arrival, whose age is not judged: {answer.undated:,}."
    if against is not None:
        differ = sum(change.events for change in answer.changes)
        yield escape(f"Events that end otherwise with {against}: {differ:,}.")
    for change in answer.changes:
        ends = f"{change.before} -> {change.after}"
        yield escape(f"  {change.events:,} {ends}, such as {change.examples[0]}")
