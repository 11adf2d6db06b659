"""Reads how requests flow from the breaker's row: the breaker's state, a pause, and why."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from once.model import words
from once.model.base import Model

FOR_THE_BREAKER = ("BREAKER_OPEN", "PAUSED")
"""The reasons of events that wait because nothing may be sent, whatever is in them."""


class State(StrEnum):
    """CLOSED: requests are sent. OPEN: none is. HALF_OPEN: the next event probes."""

    CLOSED = "CLOSED"
    OPEN = "OPEN"
    HALF_OPEN = "HALF_OPEN"


class Pause(Model):
    """Requests that an operator has paused."""

    reason: str
    by: str | None = Field(
        default=None, description="Who paused them; null if the row does not say."
    )
    since_ms: int | None = None
    until_ms: int


class Breaker(Model):
    """The breaker before the destination, as it is now."""

    state: State = State.CLOSED
    pause: Pause | None = Field(default=None, description="Null unless an operator paused.")
    why: Literal["", "outage", "429", "pause"] = Field(
        default="", description="Why it is not CLOSED."
    )
    failed: int = Field(default=0, description="Events whose first request failed since a success.")
    since_ms: int | None = Field(default=None, description="When the first of these failed.")
    until_ms: int | None = Field(default=None, description="While OPEN: no request before then.")

    @classmethod
    def parse(cls, row: Mapping[str, Any] | None, now_ms: int) -> "Breaker":
        """Reads the row as DynamoDB returns it; a healthy stack has none."""
        if row is None:
            return cls()

        def number(name: str) -> int:
            return int(row[name]["N"]) if name in row else 0

        open_until, not_before, is_held = number("open_until"), number("not_before"), "held" in row
        until_ms = max(open_until, not_before)
        failed = len(row["failed"]["SS"]) if "failed" in row else 0
        state = State.CLOSED
        why: Literal["", "outage", "429", "pause"] = ""
        if until_ms:
            state = State.OPEN if now_ms < until_ms else State.HALF_OPEN
            # A 429 or a pause that began later than an outage counts before it.
            is_outage = open_until > not_before and failed > 0
            why = "outage" if is_outage else "pause" if is_held else "429"
        pause = None
        if is_held and now_ms < not_before:
            by = row["held_by"]["S"] if "held_by" in row else None
            since_ms = number("held_at") or None
            pause = Pause(reason=row["held"]["S"], by=by, since_ms=since_ms, until_ms=not_before)
        return cls(
            state=state,
            pause=pause,
            why=why,
            failed=failed,
            since_ms=number("since") or None,
            until_ms=until_ms if state is State.OPEN else None,
        )

    @property
    def is_healthy(self) -> bool:
        """False from the first failure on, until a request succeeds."""
        return self.state is State.CLOSED and self.since_ms is None

    def text(self, now_ms: int) -> str:
        if self.pause:
            pause = self.pause
            by = f" by {pause.by}" if pause.by else ""
            since = f" since {words.format_second(pause.since_ms)} UTC" if pause.since_ms else ""
            until = words.format_second(pause.until_ms)
            left = words.format_age(pause.until_ms - now_ms)
            return f"requests are paused{by}{since}: {pause.reason}; until {until} UTC, in {left}"
        if self.is_healthy:
            return "breaker CLOSED: requests are sent"
        since = f"{words.format_second(self.since_ms)} UTC" if self.since_ms else "then"
        if self.state is State.CLOSED:
            failed = f"{words.count(self.failed, 'event')} failed and " if self.failed else ""
            return (
                f"breaker CLOSED: requests are sent, but {failed}no request succeeded since {since}"
            )
        why = {"429": "the destination answered 429", "pause": "a pause has ended"}
        ahead = "the next event probes"
        if self.until_ms:
            clock = words.format_clock(self.until_ms)
            ahead = (
                f"the next request is at {clock} UTC, in {words.format_age(self.until_ms - now_ms)}"
            )
        cause = why.get(self.why, f"no request succeeded since {since}")
        return f"breaker {self.state}: {cause}; {ahead}"

    def explain_wait(self, reason: str, now_ms: int) -> str:
        """Says why an event still waits that was put back because nothing could be sent: its record
        knows only the breaker of then."""
        if self.state is not State.CLOSED:
            return self.text(now_ms)
        if reason == "PAUSED":
            return "requests were paused; the pause is over"
        return "the breaker was open; it is closed again"
