"""The facts of a stack as they are now. once/stack/status.py reads them, once/model/findings.py
judges them."""

from enum import StrEnum

from pydantic import Field

from once.model import words
from once.model.base import Model
from once.model.outcomes import Outcome
from once.model.pace import Breaker

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
