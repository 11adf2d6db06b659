"""Makes of an event what a copy may look like: all differs that a copy may differ in."""

import copy
from random import Random
from typing import Any


def disguised(event: dict[str, Any], seed: int) -> dict[str, Any]:
    """Returns a copy with other ids, times of publication, order of fields, nulls and decimals."""
    other: dict[str, Any] = _shuffled(copy.deepcopy(event), Random(seed))  # noqa: S311
    other["id"] = "6efd5506-3fd6-09a1-5599-09ae48bd6dd8"
    other["time"] = "2025-03-12T10:00:01Z"
    other["source"] = event["source"].replace("/first", "/second")
    other["detail"]["metadata"]["CorrelationId"] = "another-archival"
    other["detail"]["timestamp"] = "2025-03-12T10:00:00.999Z"
    other["detail"]["eventBody"] = _rewritten(other["detail"]["eventBody"])
    return other


def _shuffled(value: Any, random: Random) -> Any:
    if isinstance(value, dict):
        names = list(value)
        random.shuffle(names)
        return {name: _shuffled(value[name], random) for name in names}
    return [_shuffled(part, random) for part in value] if isinstance(value, list) else value


def _rewritten(value: Any) -> Any:
    """Writes a body as another serializer would: with fields that are null, and 5 as 5.0."""
    if isinstance(value, dict):
        return {name: _rewritten(inner) for name, inner in value.items()} | {"unset": None}
    if isinstance(value, list):
        return [_rewritten(part) for part in value]
    return float(value) if type(value) is int else value
