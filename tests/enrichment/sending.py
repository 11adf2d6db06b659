"""Puts events into SQS records and through the enrichment."""

import copy
import json
from typing import Any

from once_enrichment.handler import normalise
from once_enrichment.routes import Routes, parse_routes

from schemas.examples import SENT_MS, record_of
from schemas.models import Event

Json = dict[str, Any]


def record(body: Any, message_id: str = "m", sent_ms: int | None = SENT_MS) -> Json:
    """An SQS record as the pipe hands it over."""
    made = record_of(body) | {"messageId": message_id}
    made["attributes"]["SentTimestamp"] = "" if sent_ms is None else str(sent_ms)
    return made


def element(event: Any, routes: Routes | None = None, **how: Any) -> Json:
    """The element of one event, checked by its contract and by the body that it leads to."""
    made = normalise(record(event, **how), routes)
    if made["occurredAtMs"]:
        Event.model_validate(made)
    json.dumps(made, ensure_ascii=False).encode()
    body(made)
    return made


def body(element: Json) -> Any:
    """Follows the path to the body, as a reader of an element does."""
    if "broken" in element:
        return None
    value: Any = json.loads(element["raw"])
    for name in element["bodyPath"]:
        value = (json.loads(value) if isinstance(value, str) else value)[name]
    return json.loads(value) if isinstance(value, str) else value


def routes(text: str) -> Routes:
    """Routes of a file; the last route sends everything."""
    return parse_routes("routes.toml", f'{text}\n[[routes]]\nfamily = "*"\naction = "send"\n')


def key(event: Any, **how: Any) -> tuple[str, str]:
    """The key of one event."""
    made = element(event, **how)
    assert "broken" not in made, made
    return made["key"]["pk"], made["key"]["sk"]


def changed(event: Json, *path: str | int, to: Any) -> Json:
    """A copy of the event in which one thing below eventBody is another."""
    other, inner = _copied_along(event, *path[:-1])
    inner[path[-1]] = to
    return other


def without(event: Json, *path: str | int) -> Json:
    """A copy of the event in which one thing below eventBody is missing."""
    other, inner = _copied_along(event, *path[:-1])
    del inner[path[-1]]
    return other


def _copied_along(event: Json, *path: str | int) -> tuple[Json, Any]:
    """Returns a copy that shares all but the path below eventBody, and what is at its end."""
    other = inner = copy.copy(event)
    for step in ("detail", "eventBody", *path):
        inner[step] = copy.copy(inner[step])
        inner = inner[step]
    return other, inner
