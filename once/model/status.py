"""The facts of a stack as they are now: how requests flow, and what waits or fails.

once/stack/status.py reads them, once/model/findings.py judges them.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from once_data_action.breaker import Row
from pydantic import Field

from once.model import Model, words
from once.model.reasons import Outcome


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
    def parse(cls, item: Mapping[str, Any] | None, now_ms: int) -> "Breaker":
        """Reads the row as DynamoDB returns it; a healthy stack has none."""
        row = Row.of(item)
        if item is None or row is None:
            return cls()
        not_before_ms = row.not_before_ms or 0
        state = State.CLOSED
        why: Literal["", "outage", "429", "pause"] = ""
        if row.until_ms:
            state = State.OPEN if now_ms < row.until_ms else State.HALF_OPEN
            # A 429 or a pause that began later than an outage counts before it.
            is_outage = (row.open_until_ms or 0) > not_before_ms and row.failed > 0
            why = "outage" if is_outage else "429" if row.held is None else "pause"
        pause = None
        if row.held is not None and now_ms < not_before_ms:
            since_ms = int(item["held_at"]["N"]) if "held_at" in item else None
            pause = Pause(
                reason=row.held, by=row.held_by, since_ms=since_ms, until_ms=not_before_ms
            )
        return cls(
            state=state,
            pause=pause,
            why=why,
            failed=row.failed,
            since_ms=row.since_ms,
            until_ms=row.until_ms if state is State.OPEN else None,
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


UNKNOWN = "unknown"


class Depth(Model):
    """The number of messages in a queue, roughly, as SQS says."""

    visible: int
    in_flight: int = Field(description="In progress.")
    delayed: int = Field(description="Put back, and not due yet.")

    @property
    def total(self) -> int:
        return self.visible + self.in_flight + self.delayed


class Waits(Model):
    """Events that were put back for the same reason."""

    reason: str
    sentence: str = Field(description="The reason in words, with the newest cause.")
    families: list[str]
    events: int
    since_ms: int = Field(description="Since when the first of them waits, epoch milliseconds.")
    newest_ms: int = Field(description="When one of them was put back last, as recorded.")
    last_due_ms: int = Field(description="When the last of them is back, at the latest.")
    example: str = Field(description="The subject of the one that waits longest.")


class Arrived(Model):
    """Settled events of one source and family in the last day."""

    source: str
    family: str
    outcomes: dict[Outcome, int]
    last_ms: int


class Alarm(Model):
    name: str
    since_ms: int
    description: str


class PipeFailure(Model):
    """Executions of the pipe that failed, as its log says. Their messages come back."""

    is_enrichment: bool = Field(description="False if the state machine failed.")
    executions: int
    last_ms: int
    error: str = Field(description="Of the last one.")


class Severity(StrEnum):
    """The topic on which an alarm would tell it."""

    PAGE = "page"
    TICKET = "ticket"


class Finding(Model):
    """Something that needs attention."""

    code: str = Field(description="Why, in one word of a list that may grow.")
    severity: Severity
    sentence: str
    remedy: str
    commands: list[str] = Field(description="Commands that show more or help, to be pasted.")
    page: str
    count: int | None = None
    since_ms: int | None = None


class Status(Model):
    """The breaker, what waits, what is stuck and what helps."""

    queue: Depth
    parked: int
    breaker: Breaker
    table_error: str = Field(description="Why the breaker's row cannot be read; or empty.")
    limit: int = Field(description="Requests per minute; 0 is no limit.")
    waiting: list[Waits]
    last_failure: str = Field(description="What the newest failed request of these met; or empty.")
    is_answer_lost: bool = Field(description="True if it may have acted: it got no answer.")
    last_parked: str = Field(description="Reason and cause of the newest parked event; or empty.")
    is_complete: bool = Field(description="False if the log holds more than one search returns.")
    arrived: list[Arrived]
    taken: int = Field(description="Messages that were taken in the last ten minutes.")
    recorded_ms: int | None = Field(description="The newest record of this time; null if none.")
    pipe: str
    pipe_reason: str
    pipe_failures: list[PipeFailure] = Field(description="Of the last five minutes, by stage.")
    machine: str
    only_observes: bool
    alarms: list[Alarm]
    table: str = Field(description="The claim table.")
    function: str = Field(description="The function that sends the requests.")
    enrichment: str = Field(description="The function that reads the messages.")
    logs: dict[str, str] = Field(description="Log groups by the output that names them.")
    refused: list[str] = Field(default=[], description="Requests that the credentials may not do.")
    findings: list[Finding] = Field(default=[])

    @property
    def is_breaker_known(self) -> bool:
        return not self.table_error and "GetItem" not in self.refused

    def count(self, events: int) -> str:
        """Counts events of which the log may hold more."""
        return ("" if self.is_complete else "at least ") + words.count(events, "event")
