"""`once audit`: what a capture of one's own events holds, without AWS."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from botocore.exceptions import BotoCoreError, ClientError
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from once.answers import answers
from once.audit.answer import answer
from once.audit.capture import Capture
from once.audit.page import page
from once.audit.report import AuditReport
from once.audit.run import audit_capture, audit_log
from once.audit.shapes import Shapes
from once.audit.shown import Shown
from once.audit.view import view
from once.errors import OnceError
from once.operate.refusals import plain
from once.operate.stack import EMBEDDED, Stack
from once.records import OutcomeLog
from once.screen import put, screen

CLAIM_DAYS = 30  # ClaimDays' default
_MOST_FILES = 5


@answers(AuditReport)
def audit(
    captures: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="CAPTURE...",
            help="Files or folders of captured events: JSON lines or arrays, also packed by gzip.",
        ),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a page to read and to print.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON, for scripts.")] = False,
    shape: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write which fields of which type the families have, without any content.",
        ),
    ] = None,
    with_ids: Annotated[
        bool,
        typer.Option("--with-ids", help="Show ids, and names that hold them, as they are."),
    ] = False,
    stack: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Read the outcome log of a stack that observes, in place of files."
        ),
    ] = None,
    region: Annotated[str | None, typer.Option(help="AWS region of the stack.")] = None,
    profile: Annotated[str | None, typer.Option(help="AWS profile to call with.")] = None,
) -> None:
    """Tell from a capture who duplicates your events, how far apart, and what would skip them."""
    if bool(captures) == bool(stack):
        raise OnceError(
            "Give files or folders of captured events, or --stack NAME.\n"
            "docs/audit.md says how to capture events."
        )
    for path in (html, shape):
        if path is not None and not path.absolute().parent.is_dir():
            raise OnceError(f"Cannot write to {path}: its folder does not exist.")
    if stack:
        report, shapes = _of_stack(stack, region, profile)
    else:
        report, shapes = _of_files(captures or [], Shown(with_ids), shape is not None)
    if html is not None:
        _write(html, page(report))
    if shape is not None:
        _write(shape, json.dumps(shapes.written(), indent=2) + "\n")
    if as_json:
        typer.echo(report.to_json(), nl=False)
        return
    console = screen()
    for part in view(report):
        put(console, part)
    if html is not None:
        put(console, "")
        put(console, f"The whole report: {html}", markup=False)


def _of_files(paths: list[Path], shown: Shown, with_shapes: bool) -> tuple[AuditReport, Shapes]:
    capture = Capture.of(paths)
    with _progress(capture.size) as progress:
        counts, shapes = audit_capture(
            capture, CLAIM_DAYS, shown, progress, with_shapes=with_shapes
        )
    if counts.found_no_event:
        raise OnceError(_no_capture(capture))
    return answer(counts, capture, shown), shapes


def _no_capture(capture: Capture) -> str:
    lines = ["There is no event in what you gave:"]
    for source in capture.sources[:_MOST_FILES]:
        what = source.trouble or (
            f"{source.records:,} {'record' if source.records == 1 else 'records'} and no event"
            if source.records
            else "is empty"
        )
        lines.append(f"  {source.path}: {what}")
    if len(capture.sources) > 5:
        lines.append(f"  and {len(capture.sources) - 5} files more")
    lines.append("A capture holds events as EventBridge delivers them; see docs/audit.md.")
    return "\n".join(lines)


def _of_stack(name: str, region: str | None, profile: str | None) -> tuple[AuditReport, Shapes]:
    try:
        found = Stack.find(name, region, profile)
        log = OutcomeLog(found.client("logs"), found.outputs["OutcomeLogGroupName"])
        counts = audit_log(log.new(), CLAIM_DAYS)
    except (BotoCoreError, ClientError) as error:
        raise plain(error, name == EMBEDDED) from error
    if not counts.received:
        raise OnceError(f"The outcome log of {found} is empty: nothing has reached it yet.")
    return answer(counts, Capture(), Shown(with_ids=False)), Shapes()


@contextmanager
def _progress(size: int | None) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, and nothing elsewhere."""
    errors = screen(stderr=True)
    if not errors.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as bar:
        task = bar.add_task("", total=size)
        yield lambda done: bar.update(task, completed=done)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OnceError(f"Cannot write to {path}: {error.strerror}.") from error
