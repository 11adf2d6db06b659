"""The gate and the limiter, told to the explorer as weather: no event depends on what they say.

Their rows are not followed. Whenever a task asks them it may find any of the rows below, and the
expressions of the ASL are evaluated on that row.
"""

from collections.abc import Iterator
from typing import Any

from tests.explorer.clock import NOW_MS
from tests.explorer.machine import Failure
from tests.explorer.table import OneRow, Refused, Row

PK = "gate"
REFUSED = Failure("DynamoDB.ConditionalCheckFailedException")

_IN_A_WHILE = str(NOW_MS + 20_000)
_PASSED = str(NOW_MS - 20_000)
_HEALTH: dict[str, dict[str, str] | None] = {
    "closed": None,
    "open": {"open_until": _IN_A_WHILE, "pause": "30"},
    "to be probed": {"open_until": _PASSED, "pause": "30"},
    "troubled": {"since": _PASSED, "failed": "4", "acted": "0"},
}
_SLOT: dict[str, dict[str, str] | None] = {
    "free": None,
    "nearly used up": {"used": "1"},
    "used up": {"used": "2"},
}

Answer = tuple[str, dict[str, Any] | Failure]


class Gate:
    def __init__(self, table: OneRow, *, troubled: bool) -> None:
        self._table = table
        self._troubled = troubled

    def answers(self, resource: str, request: dict[str, Any]) -> Iterator[Answer]:
        """Each with what the gate is said to be."""
        key = request["Key"]
        known = _HEALTH if key["sk"]["S"] == "health" else _SLOT
        for name, attributes in known.items() if self._troubled else list(known.items())[:1]:
            row = attributes and key | {word: {"N": number} for word, number in attributes.items()}
            told = f" (the gate is {name})" if known is _HEALTH else f" (the slot is {name})"
            yield told if self._troubled else "", self._answer(resource, request, row)

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
                    return {"Attributes": self._table.update(row, request)}
                except Refused:
                    return REFUSED
        raise NotImplementedError(f"the explorer does not know {resource} of the gate")
