"""`once normalise`: shows what the enrichment answers, without AWS."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from once.answers import command
from once.errors import OnceError
from once.lines import STDIN, find_sources, read_element, read_records
from once.screen import showable


@command("once normalise events.jsonl")
def normalise(
    source: Annotated[
        Path,
        typer.Argument(metavar="[FILE|-]", help="Events in any known form; - is standard input."),
    ] = STDIN,
) -> None:
    """Print each event as the enrichment returns it: with its key, or why it has none."""
    for found in find_sources([source]):
        for line in normalise_all(one.record for one in read_records(found)):
            print(line)
        if found.trouble:
            raise OnceError(f"{found.path} {found.trouble}.")


def normalise_all(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yields a line of JSON for each record: its element."""
    for number, record in enumerate(records, 1):
        if record["messageId"] == "-":  # the file holds no record around the event
            record = {**record, "messageId": f"line-{number}"}
        yield showable(json.dumps(read_element(record), ensure_ascii=False))
