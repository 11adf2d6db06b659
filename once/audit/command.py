"""`once audit`: shows what would become of the events of a capture, without AWS."""

from collections.abc import Sequence
from pathlib import Path

import click

from once.audit.advice import add_advice
from once.audit.capture import audit
from once.audit.entries import Shown
from once.audit.report import AuditReport
from once.audit.view import view, write_page
from once.cli_options import Output, standalone
from once.errors import OnceError
from once.lines import Source, find_sources
from once.model import words
from once.project import find_routes, read_routes

_MOST_FILES = 5


@standalone("once audit events.jsonl --html audit.html", answers=AuditReport)
@click.argument("captures", metavar="CAPTURE...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--html",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a page to read and to print.",
)
@click.option(
    "--with-ids", is_flag=True, help="Show ids, and names that contain them, as they are."
)
@click.option(
    "--routes",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=find_routes,
    help="The routes: which events are ignored, and what their facts and order would do. "
    "Default: functions/enrichment/routes.toml.",
)
def command(
    output: Output, captures: tuple[Path, ...], html: Path | None, with_ids: bool, file: Path
) -> None:
    """Show the copies in a capture of events, who publishes them, and what to do about it.

    CAPTURE is a file or folder of events, or an export of a log: docs/audit.md lists the forms.
    """
    if not captures:
        raise OnceError(
            "Give files or folders of captured events.\ndocs/audit.md says how to capture them."
        )
    if html is not None and not html.absolute().parent.is_dir():
        raise OnceError(f"Cannot write to {html}: its folder does not exist.")
    sources, routes = find_sources(captures), read_routes(file)
    with output.errors.status("reading …") as status:

        def show(records: int) -> None:
            status.update(f"reading, {records:,} records so far …")

        tally = audit(sources, routes, Shown(with_ids), show)
    if not tally.has_events:
        raise _refuse(sources)
    report = tally.make_report(sources)
    add_advice(report, tally)
    if html is not None:
        html.write_text(write_page(report), encoding="utf-8")
    output.answer(report, view(report))
    if output.as_json:
        return
    if not with_ids and (report.copies or report.passed):
        output.say(["", "Ids are hashed; --with-ids shows them."])
    if html is not None:
        output.say(["", f"The whole report: {html}"])


def _refuse(sources: Sequence[Source]) -> OnceError:
    lines = ["There is no event in what you gave:"]
    for source in sources[:_MOST_FILES]:
        what = f"{words.count(source.records, 'record')} and no event"
        lines.append(
            f"  {source.path}: {source.trouble or (what if source.records else 'is empty')}"
        )
    if len(sources) > _MOST_FILES:
        lines.append(f"  and {len(sources) - _MOST_FILES} files more")
    lines.append("A capture holds events as EventBridge delivers them; see docs/audit.md.")
    return OnceError("\n".join(lines))
