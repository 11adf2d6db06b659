"""Writes what the enrichment answers, without AWS."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from once.lines import read_element
from once.screen import showable


def normalise_all(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yields a line of JSON for each record: its element."""
    for number, record in enumerate(records, 1):
        if record["messageId"] == "-":  # the file holds no record around the event
            record = {**record, "messageId": f"line-{number}"}
        yield showable(json.dumps(read_element(record), ensure_ascii=False))
