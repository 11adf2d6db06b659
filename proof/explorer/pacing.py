"""Pacing as an actor: its own conversations, one step at a time, on rows that others change in
between. Those rows are the breaker's and the slots'; what our data action notes is here too."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from once_pacing import breaker_row, payload, steps
from once_pacing.breaker import Row
from once_pacing.handler import World
from once_pacing.settings import Settings

from proof.explorer.clock import NOW_MS
from proof.explorer.outcomes import Paced
from proof.explorer.table import Client, Key, RefusedError, changed

PACE = "pace"
BREAKER: Key = (PACE, "breaker")
TABLE = "claims"
UNANSWERED = {"unanswered": True}

_BY_THEMSELVES = (steps.Sleep, steps.CountMessages, steps.SetReturns)
_HALF = 0.5


@dataclass(frozen=True)
class Reached:
    """The state of an exchange with pacing: its next step, its answer, or its error."""

    step: Any = None
    key: Key | None = None
    answer: Any = None
    error: str = ""


@dataclass(frozen=True)
class Taken:
    """The result of a step as text, and what it leaves behind."""

    said: Any
    effect: Paced | None


class Pacing:
    def __init__(self, per_minute: int, *, used_up: bool = False) -> None:
        self._used_up = used_up
        self._settings = Settings.read({"MAX_ACTIONS_PER_MINUTE": str(per_minute)})

    @property
    def quota(self) -> int:
        """The requests that a slot allows; 0 without a limit."""
        limiter = self._settings.limiter
        return limiter.quota if limiter else 0

    def reached(self, asked: Any, said: list[Any]) -> Reached:
        """The conversation, led again over all that was said so far."""
        question = payload.read(asked)
        talk = steps.begin if isinstance(question, payload.Begin) else steps.end
        conversation = talk(question, self._settings, lambda: NOW_MS, lambda: _HALF)  # type: ignore[arg-type]
        left = list(said)
        try:
            step = next(conversation)
            while True:
                if isinstance(step, _BY_THEMSELVES):
                    step = conversation.send(_by_itself(step))
                elif not left:
                    return Reached(step, _key_of(step))
                elif (heard := left.pop(0)) == UNANSWERED:
                    step = conversation.throw(steps.UnansweredError("unanswered"))
                else:
                    step = conversation.send(_heard(heard))
        except StopIteration as stop:
            return Reached(answer=json.loads(json.dumps(stop.value)))
        except steps.UnansweredError:
            return Reached(error="UnansweredError")

    def take(self, step: Any, row: str) -> Taken:
        """Takes a step on the row that it is about."""
        if self._used_up and isinstance(step, steps.TakeTokens):
            return Taken(None, None)
        key = _key_of(step)
        rows = {key: json.loads(row)} if row else {}
        client = Client(rows)
        world = World(
            TABLE, "queue", client, lambda: client, None, lambda: NOW_MS, lambda _seconds: None
        )
        result = world.take(step)
        after = _text(rows.get(key))
        effect = None
        if after != row:
            seen = ""
            if isinstance(step, steps.Clear):
                seen = as_seen(step.started_ms)
            elif isinstance(step, steps.EndProbe):
                seen = as_seen(step.until_ms)
            effect = Paced(key, after, (), seen)
        return Taken(_said(result), effect)


def noted(
    row: str,
    kind: str,
    request: Mapping[str, Any],
    started_ms: int,
    retry_after_seconds: float | None = None,
) -> Paced | None:
    """Returns what our data action writes into the breaker's row after a request."""
    old = json.loads(row) if row else None
    event, seen = request["event"], "since" in request["pace"]
    counted: tuple[str, ...] = ()
    try:
        if kind == "failed":
            keys = [] if request["failedBefore"] else [request["idempotencyKey"][:16]]
            counted = (event["messageId"],) if keys else ()
            asked = breaker_row.note_failure(TABLE, started_ms, keys, NOW_MS)
            after = changed("dynamodb:updateItem", asked, old)
        elif kind == "limited":
            until_ms = breaker_row.rate_limited_until_ms(NOW_MS, retry_after_seconds)
            asked = breaker_row.note_rate_limited(TABLE, started_ms, until_ms, NOW_MS)
            after = changed("dynamodb:updateItem", asked, old)
        elif seen or request["retry"]:
            after = changed("dynamodb:deleteItem", breaker_row.clear(TABLE, started_ms), old)
            return Paced(BREAKER, _text(after), (), as_seen(started_ms)) if row else None
        else:
            return None
    except RefusedError:
        return None
    return Paced(BREAKER, _text(after), counted)


def row_of(attributes: Mapping[str, int | None], failed: int) -> str:
    """A row of the breaker that is there at the start, with as many strangers' failures."""
    item: dict[str, Any] = {"pk": {"S": PACE}, "sk": {"S": "breaker"}}
    item |= {name: {"N": str(value)} for name, value in attributes.items() if value is not None}
    if failed:
        item["failed"] = {"SS": [f"stranger {number:02}" for number in range(failed)]}
    return _text(item)


def in_conversation(text: str) -> bool:
    """Returns true if the text of an execution says that an exchange is under way."""
    return '"said": []' not in text


def as_seen(at_ms: int) -> str:
    return json.dumps(at_ms)


def is_younger(row: str, seen: str) -> bool:
    """Returns true if the row's failures began after what was seen, or its wait was not over."""
    item, started_ms = json.loads(row), json.loads(seen)
    waits_ms = int(item["not_before"]["N"]) if "not_before" in item else 0
    return int(item["since"]["N"]) >= started_ms or waits_ms >= started_ms


def until_ms(row: str) -> int:
    """Nobody but one calls before; 0 where that is not said."""
    item = json.loads(row) if row else {}
    return max(int(item[name]["N"]) if name in item else 0 for name in ("open_until", "not_before"))


def _key_of(step: Any) -> Key:
    if isinstance(step, steps.TakeTokens | steps.GiveBackTokens):
        return (PACE, f"slot/{step.slot}")
    return BREAKER


def _text(row: Mapping[str, Any] | None) -> str:
    """Nobody waits for the days of these rows."""
    kept = {name: value for name, value in (row or {}).items() if name != "expires_at"}
    if "failed" in kept:
        kept["failed"] = {"SS": sorted(kept["failed"]["SS"])}
    return json.dumps(kept, sort_keys=True) if kept else ""


def _by_itself(step: Any) -> Any:
    if isinstance(step, steps.SetReturns):
        return {one.receipt for one in step.returns}
    return 0


def _said(result: Any) -> Any:
    """By the names that the clock knows."""
    if isinstance(result, Row):
        return {
            "since": result.since_ms,
            "failed": result.failed,
            "openUntil": result.open_until_ms,
            "notBefore": result.not_before_ms,
        }
    return result if isinstance(result, int) or result is None else True


def _heard(said: Any) -> Any:
    if not isinstance(said, dict):
        return said
    return Row(said["since"], said["failed"], said["openUntil"], said["notBefore"])
