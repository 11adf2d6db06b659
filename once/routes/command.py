"""`once routes`: the operator's routes.toml, judged and tried before it is deployed."""

from pathlib import Path
from typing import Annotated

import typer
from once_enrichment import routes_file
from once_enrichment.routes import IGNORE, Routes
from once_enrichment.routes_file import InvalidRoutesError
from rich.table import Table

from once.answers import answers
from once.errors import OnceError
from once.lines import find_sources, read_records
from once.project import ROOT
from once.routes.notes import find_notes
from once.routes.trial import Model, RouteChange, RouteTaken, Trial
from once.screen import put, say, screen

_SHIPPED = ROOT / "functions" / "enrichment" / "routes.toml"

File = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The routes.")]


class RoutesTrial(Model):
    """The result of a file of routes for a capture."""

    events: int
    """The number of events in the capture."""
    unreadable: int
    """Records without an event; they would be parked."""
    undated: int
    """Events without a time of arrival in the capture: none of them expires."""
    routes: list[RouteTaken]
    """The routes in the order of the file."""
    changes: list[RouteChange]
    """Empty without another file."""


def register(app: typer.Typer) -> None:
    routes = typer.Typer(no_args_is_help=True, help="Which events are acted on, and how.")
    routes.command("check", epilog="Example: once routes check")(check)
    routes.command("try", epilog="Example: once routes try events.jsonl")(try_routes)
    app.add_typer(routes, name="routes")


def check(file: File = _SHIPPED) -> None:
    """Name each wrong or doubtful line; exit code 1 if one is wrong, 3 if one is doubtful."""
    text = _read_text(file)
    routes, faults = routes_file.check(text)
    for fault in faults:
        say(f"{file}:{fault.line}: {fault.text}")
    if faults:
        put(screen(stderr=True), f"{len(faults)} to correct before deploying", style="red")
        raise typer.Exit(1)
    notes = sorted((routes_file.line_of(text, note.path), note.text) for note in find_notes(routes))
    for line, note in notes:
        say(f"{file}:{line}: note: {note}")
    say(f"{file}: no line is wrong")
    if notes:
        raise typer.Exit(3)


@answers(RoutesTrial)
def try_routes(
    capture: Annotated[
        list[Path],
        typer.Argument(help="Events: files, folders, exports of a log, or - for standard input."),
    ],
    file: Annotated[
        Path, typer.Option("--routes", exists=True, dir_okay=False, help="The file to try.")
    ] = _SHIPPED,
    against: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Another file: which events differ?"),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show which events of a capture each route would take, and how many come too old."""
    trial = Trial(_read(file), _read(against) if against else None)
    sources = find_sources(capture)
    for source in sources:
        trial.add_all(found.record for found in read_records(source))
        if source.trouble:
            raise OnceError(f"{source.path} {source.trouble}.")
    if not trial.events:
        raise OnceError(
            f"No event in {', '.join(source.name for source in sources)}. once audit FILE says "
            "why each record holds none."
            if trial.unreadable
            else f"{', '.join(source.name for source in sources)} holds no record."
        )
    answer = RoutesTrial(
        events=trial.events,
        unreadable=trial.unreadable,
        undated=trial.undated,
        routes=[*trial.taken.values()],
        changes=sorted(trial.changes.values(), key=lambda change: -change.events),
    )
    if as_json:
        print(answer.model_dump_json(by_alias=True, indent=2))
    else:
        _show(answer, against)


def _read(file: Path) -> Routes:
    try:
        return routes_file.read(str(file), _read_text(file))
    except InvalidRoutesError as error:
        raise OnceError(f"{error}.") from None


def _read_text(file: Path) -> str:
    content = file.read_bytes()
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise OnceError(f"{file}, line {line}: not UTF-8. Save the file as UTF-8.") from None


def _show(answer: RoutesTrial, against: Path | None) -> None:
    say(f"Events: {answer.events:,}. Records without an event: {answer.unreadable:,}.")
    table = Table("route", "action", box=None, pad_edge=False)
    table.add_column("taken", justify="right")
    table.add_column("expired", justify="right")
    for route in answer.routes:
        action = "ignored" if route.action == IGNORE else route.action
        table.add_row(route.name, action, f"{route.events:,}", f"{route.expired:,}")
    put(screen(), table)
    if answer.undated:
        say(f"Events without a time of arrival, whose age is not judged: {answer.undated:,}.")
    if against is None:
        return
    differ = sum(change.events for change in answer.changes)
    say(f"Events that end otherwise with {against}: {differ:,}.")
    for change in answer.changes:
        say(f"  {change.events:,} {change.before} -> {change.after}, such as {change.examples[0]}")
