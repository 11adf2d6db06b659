"""`once normalise`: shows what the enrichment would answer, with no AWS."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from enrichment.batch import enrich

from once.errors import OnceError

# Allowed inside JSON strings, but the end of a line for some who read the answer.
_LINE_ENDS = {ord(end): f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"}


def normalise_stream(lines: Iterable[str]) -> Iterator[str]:
    """One line of JSON for each line: the element of the event or SQS record that it holds."""
    for number, line in enumerate(lines, 1):
        (element,) = enrich([_record(line.rstrip("\r\n"), number)], _would_write)
        yield json.dumps(element, ensure_ascii=False).translate(_LINE_ENDS)


def _record(line: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        # The pipe writes these names in one way, `aws sqs receive-message` in another.
        record = {name[:1].lower() + name[1:]: part for name, part in value.items()}
        if "messageId" in record and "body" in record:
            return record
    return {"messageId": f"line-{number}", "body": line, "attributes": {}}


def _would_write(key: str, _content: bytes) -> dict[str, str]:
    return {"bucket": "OVERFLOW_BUCKET", "key": key}


def normalise(
    source: Annotated[
        Path,
        typer.Argument(metavar="[FILE|-]", help="An event or an SQS record a line; - is stdin."),
    ] = Path("-"),
) -> None:
    """Print what the enrichment makes of each line: its event with its key, or why it has none."""
    if source == Path("-"):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace", newline="\n")  # type: ignore[union-attr]
        _print(sys.stdin)
        return
    try:
        # Lines end in \n alone: JSON strings may hold U+2028 and its like.
        with source.open(encoding="utf-8", errors="replace", newline="\n") as lines:
            _print(lines)
    except OSError as error:
        raise OnceError(
            f"Cannot read {source}: {error.strerror}.\n"
            "Give a file with one event per line, e.g. once/examples/story.jsonl."
        ) from error


def _print(lines: Iterable[str]) -> None:
    for line in normalise_stream(lines):
        typer.echo(line)
