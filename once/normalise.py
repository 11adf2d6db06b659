"""`once normalise`: shows what the enrichment would answer, with no AWS."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from enrichment.batch import enrich

from once.lines import texts, unreadable
from once.screen import showable


def normalise_stream(lines: Iterable[str]) -> Iterator[str]:
    """One line of JSON for each line: the element of the event or SQS record that it holds."""
    for number, line in enumerate(lines, 1):
        (element,) = enrich([_record(line.rstrip("\r\n"), number)], would_write)
        yield showable(json.dumps(element, ensure_ascii=False))


def _record(line: str, number: int) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    return sqs_record(value) or {"messageId": f"line-{number}", "body": line, "attributes": {}}


def sqs_record(value: Any) -> dict[str, Any] | None:
    """The value as the pipe would hand it on, where it is a message with all that SQS notes."""
    if not isinstance(value, dict):
        return None
    # The pipe writes these names in one way, `aws sqs receive-message` in another.
    record = {name[:1].lower() + name[1:]: part for name, part in value.items()}
    return record if "messageId" in record and "body" in record else None


def would_write(key: str, _content: bytes) -> dict[str, str]:
    return {"bucket": "OVERFLOW_BUCKET", "key": key}


def normalise(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="[FILE|-]", help="An event or an SQS record a line, or JSON; - is stdin."
        ),
    ] = Path("-"),
) -> None:
    """Print what the enrichment makes of each line: its event with its key, or why it has none."""
    # Lines end in \n alone: JSON strings may hold U+2028 and its like.
    form: dict[str, Any] = {"encoding": "utf-8-sig", "errors": "replace", "newline": "\n"}
    if source == Path("-"):
        sys.stdin.reconfigure(**form)  # type: ignore[union-attr]
        _print(sys.stdin)
        return
    with ExitStack() as opened:
        try:
            lines = opened.enter_context(source.open(**form))
        except OSError as error:
            raise unreadable(source, error) from error
        _print(lines)


def _print(lines: Iterable[str]) -> None:
    for line in normalise_stream(texts(line.rstrip("\r\n") for line in lines)):
        print(line)
