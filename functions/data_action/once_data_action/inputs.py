"""The inputs of a data action of Genesys Cloud, and where each comes from in the event."""

import json
from collections.abc import Mapping
from typing import Any

from .body import body_text

# Genesys does not look at the header Idempotency-Key. With key and time among the inputs the
# endpoint behind the action can tell a repeated request, or an old one, from a new one.
COMMON = {
    "idempotencyKey": "idempotencyKey",
    "occurredAtMs": "occurredAtMs",
    "occurredAt": "occurredAt",
    "family": "family",
    "state": "state",
    "subjectType": "subject.type",
    "subjectId": "subject.id",
    "conversationId": "ids.conversationId",
    "participantId": "ids.participantId",
    "userId": "ids.userId",
    "queueId": "ids.queueId",
}
"""The inputs of a route that names none."""


def read_inputs(sources: Mapping[str, str], event: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The flat map that an action is executed with, without what the event does not have.

    An object or a list is given as JSON text. The body is read only if an input needs it.
    """
    values = {**event, "idempotencyKey": key}
    if any(source.split(".")[0] == "body" for source in sources.values()):
        values["body"] = json.loads(body_text(event))
    inputs = {}
    for name, source in sources.items():
        value: Any = values
        for part in source.split("."):
            value = _step(value, part)
        if isinstance(value, dict | list):
            value = json.dumps(value, separators=(",", ":"))
        if value is not None:
            inputs[name] = value
    return inputs


def _step(value: Any, part: str) -> Any:
    if isinstance(value, dict):
        return value.get(part)
    if isinstance(value, list) and part.isdecimal() and int(part) < len(value):
        return value[int(part)]
    return None
