"""Reads how many requests may be sent now: the breaker's row and the limit."""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from once_pacing import breaker_row
from pydantic import Field

from once.errors import OnceError
from once.operate import phrases as words
from once.operate.model import Model
from once.operate.stack import Stack

_SHORT_MS = 60_000


class Limit(Model):
    """The limit of the stack, and how long what waits will take."""

    per_minute: int
    parameter: str = Field(description="What MaxActionsPerMinute says: a number, or auto.")
    waiting: int

    @property
    def minutes(self) -> str:
        minutes = max(1, math.ceil(self.waiting / self.per_minute))
        return f"about {minutes} minute{'s' * (minutes > 1)}"

    @property
    def text(self) -> str:
        limited = f"limited to {self.per_minute:,} per minute"
        if self.parameter == "auto":
            limited += " (MaxActionsPerMinute=auto, as Genesys Cloud allows per token)"
        if not self.waiting:
            return f"{limited}, nothing waits"
        return f"{limited}, {self.waiting:,} wait, {self.minutes}"


class State(StrEnum):
    """CLOSED: requests are sent. OPEN: none is. HALF_OPEN: the next batch sends one."""

    CLOSED = "CLOSED"
    OPEN = "OPEN"
    HALF_OPEN = "HALF_OPEN"


class Pause(Model):
    """Requests that an operator has paused."""

    reason: str
    by: str | None = Field(description="Who paused them; null if the row does not say.")
    since_ms: int | None
    until_ms: int

    def text(self, now_ms: int) -> str:
        by = f" by {self.by}" if self.by else ""
        since = f" since {words.format_second(self.since_ms)} UTC" if self.since_ms else ""
        until = f"until {words.format_second(self.until_ms)} UTC"
        return (
            f"requests are paused{by}{since}: {self.reason}; {until}, in "
            f"{_count_down(self.until_ms - now_ms)}"
        )


class Breaker(Model):
    """The breaker before the destination, as it is now."""

    state: State
    pause: Pause | None = Field(default=None, description="Null unless an operator paused.")
    pause_ended: bool = Field(default=False, description="HALF_OPEN only since a pause ended.")
    rate_limited: bool = Field(
        default=False, description="Not CLOSED only since the destination answered 429."
    )
    failed: int = Field(
        default=0, description="Events whose first request failed since one succeeded."
    )
    since_ms: int | None = Field(default=None, description="When the first of these began.")
    until_ms: int | None = Field(default=None, description="While OPEN: no request before then.")

    def say_wait(self, now_ms: int) -> str:
        """Says why an event that was returned for the breaker waits now."""
        if self.state is State.CLOSED and not self.failed:
            return "no request could be sent then; requests are sent again"
        return self.text(now_ms)

    def say_limited(self, now_ms: int) -> str:
        """Says that the destination's 429 stops requests for more than a minute; else nothing."""
        if not self.rate_limited or (self.until_ms or 0) - now_ms <= _SHORT_MS:
            return ""
        at = words.format_clock(self.until_ms or 0)[:8]
        return f"The destination limits requests (429): none is sent until {at} UTC."

    def text(self, now_ms: int) -> str:
        if self.pause is not None:
            return self.pause.text(now_ms)
        until = ""
        if self.until_ms is not None:
            at = words.format_clock(self.until_ms)[:8]
            until = f"{at} UTC, in {_count_down(self.until_ms - now_ms)}"
        since = f"{words.format_second(self.since_ms)} UTC" if self.since_ms is not None else ""
        if self.state is State.CLOSED:
            if not self.failed:
                return "breaker CLOSED: requests are sent"
            failed = words.count_events(self.failed)
            return (
                f"breaker CLOSED: requests are sent, but {failed} failed and no request succeeded "
                f"since {since}"
            )
        why = f"no request succeeded since {since}"
        if self.rate_limited:
            why = "the destination answered 429"
        elif self.pause_ended:
            why = "a pause has ended"
        ahead = f"the next request is at {until}" if until else "the next event probes"
        return f"breaker {self.state}: {why}; {ahead}"


def read_pipe(stack: Stack) -> str:
    pipe = stack.client("pipes").describe_pipe(Name=stack.outputs["PipeName"])
    return str(pipe["CurrentState"])


def refuse_stopped_pipe(stack: Stack) -> None:
    if (state := read_pipe(stack)) != "RUNNING":
        raise OnceError(f"The pipe is {state}. Start it first: once resume")


def read_limit(stack: Stack, waiting: int) -> Limit | None:
    per_minute = int(stack.outputs["MaxActionsPerMinute"])
    if not per_minute:
        return None
    parameter = stack.parameters["MaxActionsPerMinute"]
    return Limit(per_minute=per_minute, parameter=parameter, waiting=waiting)


def read_breaker(stack: Stack, now_ms: int) -> Breaker:
    request = breaker_row.read(stack.outputs["ClaimTableName"])
    return parse_breaker(stack.client("dynamodb").get_item(**request).get("Item"), now_ms)


def parse_breaker(row: Mapping[str, Any] | None, now_ms: int) -> Breaker:
    """Reads the breaker's row as DynamoDB returns it; a healthy stack has none."""
    if row is None:
        return Breaker(state=State.CLOSED)

    def number(name: str) -> int:
        return int(row[name]["N"]) if name in row else 0

    until_ms = max(number("open_until"), number("not_before"))
    state = State.CLOSED
    if until_ms:
        state = State.OPEN if now_ms < until_ms else State.HALF_OPEN
    failed = len(row["failed"]["SS"]) if "failed" in row else 0
    # An outage that is over counts no more than a 429 or a pause that began later. A probe after a
    # 429 is written as in an outage, but the breaker opens only after so many failures.
    is_open = state is State.OPEN
    not_an_outage = number("open_until") <= now_ms if is_open else not number("open_until")
    pause = None
    if "held" in row and now_ms < number("not_before"):
        pause = Pause(
            reason=row["held"]["S"],
            by=row["held_by"]["S"] if "held_by" in row else None,
            since_ms=number("held_at") or None,
            until_ms=number("not_before"),
        )
    return Breaker(
        state=state,
        pause=pause,
        pause_ended=state is State.HALF_OPEN and not_an_outage and "held" in row,
        rate_limited=state is not State.CLOSED
        and "held" not in row
        and (not_an_outage or ("not_before" in row and failed < breaker_row.MOST_FAILED)),
        failed=failed,
        since_ms=number("since") or None,
        until_ms=until_ms if is_open else None,
    )


def _count_down(milliseconds: int) -> str:
    seconds = max(0, math.ceil(milliseconds / 1000))
    hours, minutes = divmod(math.ceil(seconds / 60), 60)
    if seconds < 120:
        return f"{seconds} s"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
