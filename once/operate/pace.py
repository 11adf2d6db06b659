"""How many calls may be made now: the breaker's row, and the limit, as a person reads them."""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pacing import breaker_row
from pydantic import Field

from once.operate import phrases as words
from once.operate.model import Model
from once.operate.stack import Stack


class Limit(Model):
    """MaxActionsPerMinute, and how long what waits will take."""

    per_minute: int
    waiting: int

    @property
    def minutes(self) -> str:
        """How long what waits takes."""
        minutes = max(1, math.ceil(self.waiting / self.per_minute))
        return f"about {minutes} minute{'s' * (minutes > 1)}"

    @property
    def text(self) -> str:
        if not self.waiting:
            return f"limited to {self.per_minute:,} a minute, nothing waiting"
        return (
            f"limited to {self.per_minute:,} a minute, {self.waiting:,} waiting, drained in "
            f"{self.minutes}"
        )


class State(StrEnum):
    """CLOSED: calls flow. OPEN: nobody calls. HALF_OPEN: the next batch calls once."""

    CLOSED = "CLOSED"
    OPEN = "OPEN"
    HALF_OPEN = "HALF_OPEN"


class Breaker(Model):
    """The breaker before the destination, as it is now."""

    state: State
    held: str | None = Field(
        default=None, description="Why a person holds all calls, while one does."
    )
    hold_ended: bool = Field(
        default=False, description="HALF_OPEN only since a person's hold has ended."
    )
    rate_limited: bool = Field(
        default=False, description="Not CLOSED only since the destination answered 429."
    )
    failed: int = Field(
        default=0, description="Events whose first call failed since one was answered."
    )
    since_ms: int | None = Field(default=None, description="When the first of these calls began.")
    until_ms: int | None = Field(default=None, description="While OPEN: nobody calls before.")

    def text(self, now_ms: int) -> str:
        until = ""
        if self.until_ms is not None:
            until = f"{words.clock(self.until_ms)[:8]} UTC, in {_countdown(self.until_ms - now_ms)}"
        since = f"{words.moment(self.since_ms)[:19]} UTC" if self.since_ms is not None else ""
        if self.held is not None:
            return f"calls are held until {until}: {self.held}"
        if self.state is State.OPEN and self.rate_limited:
            return f"breaker OPEN: the destination answered 429; the next call at {until}"
        if self.state is State.OPEN:
            return f"breaker OPEN: no call was answered since {since}; one probes at {until}"
        if self.hold_ended:
            return "breaker HALF_OPEN: the hold has ended; the next event probes"
        if self.state is State.HALF_OPEN and self.rate_limited:
            return "breaker HALF_OPEN: the destination answered 429; the next event probes"
        if self.state is State.HALF_OPEN:
            return f"breaker HALF_OPEN: no call was answered since {since}; the next event probes"
        if self.failed:
            return (
                f"breaker CLOSED, calls flow, but {words.events(self.failed)} failed since {since} "
                "and nobody was answered"
            )
        return "breaker CLOSED: calls flow"


def limit(stack: Stack, waiting: int) -> Limit | None:
    per_minute = int(stack.parameters.get("MaxActionsPerMinute", "0"))
    return Limit(per_minute=per_minute, waiting=waiting) if per_minute else None


def breaker(stack: Stack, now_ms: int) -> Breaker:
    request = breaker_row.read(stack.outputs["ClaimTableName"])
    return read(stack.client("dynamodb").get_item(**request).get("Item"), now_ms)


def read(row: Mapping[str, Any] | None, now_ms: int) -> Breaker:
    """The breaker's row as DynamoDB answers it; a healthy stack has none."""
    if row is None:
        return Breaker(state=State.CLOSED)

    def number(name: str) -> int:
        return int(row[name]["N"]) if name in row else 0

    until_ms = max(number("open_until"), number("not_before"))
    state = State.CLOSED
    if until_ms:
        state = State.OPEN if now_ms < until_ms else State.HALF_OPEN
    is_open = state is State.OPEN
    # An outage that is over counts no more than a 429 or a hold that began later.
    paused = number("open_until") <= now_ms if is_open else not number("open_until")
    is_held = "held" in row and now_ms < number("not_before")
    return Breaker(
        state=state,
        held=row["held"]["S"] if is_held else None,
        hold_ended=state is State.HALF_OPEN and paused and "held" in row,
        rate_limited=state is not State.CLOSED and paused and "held" not in row,
        failed=len(row["failed"]["SS"]) if "failed" in row else 0,
        since_ms=number("since") or None,
        until_ms=until_ms if is_open else None,
    )


def _countdown(milliseconds: int) -> str:
    seconds = max(0, math.ceil(milliseconds / 1000))
    return f"{seconds} s" if seconds < 120 else words.age(milliseconds)
