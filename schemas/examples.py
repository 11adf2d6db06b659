"""The examples of schemas/examples.jsonl: for each family an invented event, and its pinned key."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from once_enrichment.handler import normalise

FILE = Path(__file__).with_name("examples.jsonl")
SENT_MS = 1777888802000  # two seconds after the events, which happen at 10:00 on 4 May 2026

Json = dict[str, Any]


def read(file: Path = FILE) -> list[Json]:
    """Returns the lines of the file; a new line needs a name and an event only."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def record_of(event: Any) -> Json:
    """Returns an event as the pipe hands it to the enrichment."""
    return {
        "messageId": "example",
        "receiptHandle": "handle-of-example",
        "body": event if isinstance(event, str) else json.dumps(event),
        "attributes": {"SentTimestamp": str(SENT_MS), "ApproximateReceiveCount": "1"},
        "messageAttributes": {},
    }


def element_of(event: Any) -> Json:
    """Returns the element of an event that is alone in its message."""
    return normalise(record_of(event))


def pinned(example: Json) -> Json:
    """Returns the example with what the enrichment makes of its event.

    A key that changed without a new version stays as it is, and `faults` names it.
    """
    element = element_of(example["event"])
    made = {"name": example["name"], "event": example["event"]}
    made |= {
        name: element[name] for name in ("key", "policy", "state", "broken") if name in element
    }
    return example if [*changed_key(example, element)] else made


def changed_key(example: Json, element: Json) -> Iterator[str]:
    """Complains if the key is another, and its version is not."""
    before, after = example.get("key"), element["key"]
    if before and before != after and _version(before) == _version(after):
        yield (
            f"schemas/examples.jsonl: {example['name']}: the key changed from {before} to {after}. "
            "Copies in flight would act twice. Take the change back, or raise KEY_VERSION in "
            "functions/enrichment/once_enrichment/keys.py and run `make schemas`. If the "
            "example is new, delete its `key` and run `make schemas`"
        )


def text_of(lines_read: list[Json]) -> str:
    """Returns the file as it should be."""
    lines = [json.dumps(pinned(example), ensure_ascii=False) for example in lines_read]
    return "\n".join(lines) + "\n"


def _version(key: Json) -> str:
    return str(key["sk"]).partition("/")[0]
