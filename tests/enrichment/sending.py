"""Puts events into SQS records and through the enrichment."""

import copy
import json
from typing import Any

from once_enrichment.batch import enrich
from once_enrichment.elements import Element
from pydantic import TypeAdapter

SENT_MS = 1741777200000  # 2025-03-12T11:00:00Z, after every event of these tests
_CONTRACT: TypeAdapter[Any] = TypeAdapter(Element)


def record(body: Any, message_id: str = "m", sent_ms: int | None = SENT_MS) -> dict[str, Any]:
    """An SQS record as the pipe hands it over."""
    text = body if isinstance(body, str) else json.dumps(body)
    attributes = {"ApproximateReceiveCount": "1"}
    if sent_ms is not None:
        attributes["SentTimestamp"] = str(sent_ms)
    return {
        "messageId": message_id,
        "receiptHandle": f"handle-of-{message_id}",
        "body": text,
        "attributes": attributes,
    }


def no_bucket(key: str, content: bytes) -> dict[str, str]:
    raise AssertionError(f"nothing here is large, but {key} with {len(content)} bytes was written")


def elements(*records: Any) -> list[dict[str, Any]]:
    """Returns what the enrichment returns, checked by its contract."""
    answer = enrich(list(records), no_bucket)
    for element in answer:
        _CONTRACT.validate_python(element)
    return answer


def element(event: Any, **how: Any) -> dict[str, Any]:
    """The element of one event that travels alone."""
    (one,) = elements(record(event, **how))
    return one


def key(event: Any, **how: Any) -> tuple[str, str]:
    """The key of one event."""
    one = element(event, **how)
    assert one["kind"] == "event", one
    return one["key"]["pk"], one["key"]["sk"]


def changed(event: dict[str, Any], *path: str | int, to: Any) -> dict[str, Any]:
    """A copy of the event in which one thing below eventBody is another."""
    other, inner = _copied_along(event, *path[:-1])
    inner[path[-1]] = to
    return other


def without(event: dict[str, Any], *path: str | int) -> dict[str, Any]:
    """A copy of the event in which one thing below eventBody is missing."""
    other, inner = _copied_along(event, *path[:-1])
    del inner[path[-1]]
    return other


def _copied_along(event: dict[str, Any], *path: str | int) -> tuple[dict[str, Any], Any]:
    """Returns a copy that shares all but the path below eventBody, and what is at its end."""
    other = inner = copy.copy(event)
    for step in ("detail", "eventBody", *path):
        inner[step] = copy.copy(inner[step])
        inner = inner[step]
    return other, inner
