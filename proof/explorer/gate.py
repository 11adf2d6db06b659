"""The gate and the limiter, told to the explorer as weather: no event depends on what they say.

Their rows are not followed. Whenever a task asks them it may find any of the rows below, and the
expressions of the ASL are evaluated on that row.
"""

from collections.abc import Iterator
from typing import Any

from proof.explorer.clock import NOW_MS
from proof.explorer.machine import Failure
from proof.explorer.table import RefusedError, Row, changed

PK = "gate"
REFUSED = Failure("DynamoDB.ConditionalCheckFailedException")

_IN_A_WHILE = str(NOW_MS + 20_000)
_PASSED = str(NOW_MS - 20_000)
# The first of each is fair weather, and goes without saying.
_HEALTH: dict[str, dict[str, str] | None] = {
    "": None,
    " (the gate is open)": {"open_until": _IN_A_WHILE, "pause": "30"},
    " (the gate is to be probed)": {"open_until": _PASSED, "pause": "30"},
    " (the destination is troubled)": {"since": _PASSED, "failed": "4", "acted": "0"},
}
_SLOT: dict[str, dict[str, str] | None] = {
    "": None,
    " (the slot is nearly used up)": {"used": "1"},
    " (the slot is used up)": {"used": "2"},
}

Answer = tuple[str, dict[str, Any] | Failure]


class Gate:
    def __init__(self, *, troubled: bool) -> None:
        self._troubled = troubled

    def answers(self, resource: str, request: dict[str, Any]) -> Iterator[Answer]:
        """What the task may hear, each with what the weather is then."""
        key = request["Key"]
        known = _HEALTH if key["sk"]["S"] == "health" else _SLOT
        for name, attributes in known.items():
            known_row = {word: {"N": number} for word, number in (attributes or {}).items()}
            row = {**key, **known_row} if known_row else None
            yield name, self._answer(resource, request, row)
            if not self._troubled:
                return

    def _answer(
        self, resource: str, request: dict[str, Any], row: Row | None
    ) -> dict[str, Any] | Failure:
        match resource:
            case "dynamodb:getItem":
                return {"Item": row} if row else {}
            case "dynamodb:deleteItem":
                return {}
            case "dynamodb:updateItem":
                try:
                    return {"Attributes": changed(resource, request, row)}
                except RefusedError:
                    return REFUSED
        raise NotImplementedError(f"the explorer does not know {resource} of the gate")
