"""`once audit`: shows what would become of the events of a capture, without AWS."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from once.answers import answers, command
from once.audit.answer import answer
from once.audit.capture import Capture
from once.audit.page import page
from once.audit.report import AuditReport
from once.audit.shown import Shown
from once.audit.tally import Tally
from once.audit.view import view
from once.errors import OnceError
from once.outcomes import Outcome
from once.project import ROOT
from once.screen import put, screen

CLAIM_DAYS = 30  # ClaimDays' default
SHIPPED_ROUTES = ROOT / "functions" / "enrichment" / "routes.toml"
_MOST_FILES = 5


@command("once audit events.jsonl --html audit.html")
@answers(AuditReport)
def audit(
    captures: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="CAPTURE...",
            help="Files or folders of captured events: JSON lines or arrays, also with gzip.",
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page to read and to print.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON, for scripts.")] = False,
    with_ids: Annotated[
        bool,
        typer.Option("--with-ids", help="Show ids, and names that contain them, as they are."),
    ] = False,
    routes: Annotated[
        Path,
        typer.Option(
            exists=True,
            dir_okay=False,
            help="The routes that decide which events are ignored.",
            show_default="functions/enrichment/routes.toml",
        ),
    ] = SHIPPED_ROUTES,
) -> None:
    """Show the copies in a capture of events, who publishes them, and what to do about it."""
    if not captures:
        raise OnceError(
            "Give files or folders of captured events.\ndocs/audit.md says how to capture them."
        )
    if html is not None and not html.absolute().parent.is_dir():
        raise OnceError(f"Cannot write to {html}: its folder does not exist.")
    shown = Shown(with_ids)
    capture = Capture(captures, routes)
    report = answer(_audit_files(capture, shown), shown, capture.sources)
    if html is not None:
        try:
            html.write_text(page(report), encoding="utf-8")
        except OSError as error:
            raise OnceError(f"Cannot write to {html}: {error.strerror}.") from error
    if as_json:
        typer.echo(report.to_json(), nl=False)
        return
    console = screen()
    for part in view(report):
        put(console, part)
    if report.late_examples and not with_ids:
        put(console, "")
        put(console, "Ids are hashed; --with-ids shows them.")
    if html is not None:
        put(console, "")
        put(console, f"The whole report: {html}", markup=False)


def _audit_files(capture: Capture, shown: Shown) -> Tally:
    with _progress(capture.size) as progress:
        tally = capture.audit(CLAIM_DAYS, shown, progress)
    if tally.received == tally.outcomes[Outcome.PARKED]:
        lines = ["There is no event in what you gave:"]
        for source in capture.sources[:_MOST_FILES]:
            what = source.trouble or (
                f"{source.records:,} {'record' if source.records == 1 else 'records'} and no event"
                if source.records
                else "is empty"
            )
            lines.append(f"  {source.path}: {what}")
        if len(capture.sources) > _MOST_FILES:
            lines.append(f"  and {len(capture.sources) - _MOST_FILES} files more")
        lines.append("A capture holds events as EventBridge delivers them; see docs/audit.md.")
        raise OnceError("\n".join(lines))
    return tally


@contextmanager
def _progress(size: int | None) -> Iterator[Callable[[int], None]]:
    """Shows a bar on a terminal, and nothing elsewhere."""
    errors = screen(stderr=True)
    if not errors.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as bar:
        task = bar.add_task("", total=size)
        yield lambda done: bar.update(task, completed=done)
