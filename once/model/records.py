"""The outcome record: the line that the state machine writes to the outcome log for each
execution."""

import json
from typing import Self

from pydantic import ConfigDict, Field

from once.model.base import Model
from once.model.keys import Key, read_message_id
from once.model.outcomes import SETTLED, Outcome
from once.model.reasons import REASONS, describe_end

LONGEST_DELAY_MS = 900_000  # SQS delays a message by 15 minutes at most
GRACE_MS = 300_000  # a running pipe takes a message within minutes after its return
# Lambda could not load the code, so no request was sent.
NEVER_RAN = {
    "Runtime.ImportModuleError",
    "Runtime.HandlerNotFound",
    "Runtime.UserCodeSyntaxError",
    "Runtime.MalformedHandlerName",
}


class LoggedRecord(Model):
    """The outcome of one execution. An event that waits has a record for each reason at least."""

    model_config = ConfigDict(frozen=True)

    message_id: str = Field(description="The first message of the chain that carried the event.")
    run: str = Field("", description="The owner: execution, `#`, first message.")
    outcome: Outcome
    reason: str | None = None
    cause: str | None = Field(None, description="A sentence of ours, without a word of the event.")
    because: str | None = Field(None, description="The owner of the claim or turn that it met.")
    pk: str | None = None
    sk: str | None = None
    family: str | None = Field(None, description="`broken` if the message holds no event.")
    plain_state: str | None = Field(None, description="The state, if it names no person.")
    occurred_at_ms: int | None = None
    event_id: str | None = Field(None, description="The id that the publisher itself gave.")
    envelope_id: str | None = None
    source: str | None = Field(None, description="Last segment of the source.")
    note: str | None = Field(None, description="Why identity or time had to fall back.")
    route: str | None = Field(None, description="Of IGNORED: the route that took it.")
    idempotency_key: str | None = Field(None, description="Present if the function was asked.")
    requests: int | None = Field(None, description="Requests to the destination.")
    status: int | None = Field(None, description="The destination's HTTP status, if it gave one.")
    duration_ms: int | None = Field(None, description="What the request that acted took.")
    age_ms: int | None = Field(None, description="From the event to its act; of PROCESSED only.")
    tries: int | None = Field(None, description="Deliveries whose failure counts for MaxTries.")
    failed_at_ms: int | None = Field(None, description="When its last failed request ended.")
    retry_in_seconds: int | None = Field(None, description="Of RETRY: when it comes back.")
    returned_as: str | None = Field(None, description="Of RETRY: the message that was put back.")
    waits_since_ms: int | None = Field(None, description="Of RETRY: since when it waits.")
    breaker_seconds: float | None = Field(None, description="How long no request has succeeded.")
    error_class: str | None = Field(None, description="Of a function that failed.")
    lease_until_ms: int | None = Field(None, description="Until when the claim is kept.")
    unconfirmed: bool | None = Field(None, description="True if the end was not written.")


class Record(LoggedRecord):
    """A record as it is read from the log."""

    recorded_at_ms: int = Field(description="When the line was logged, epoch milliseconds.")

    @classmethod
    def parse(cls, line: str, recorded_at_ms: int) -> Self | None:
        """Returns None for a line that is no record."""
        fields = json.loads(line)
        return cls(recorded_at_ms=recorded_at_ms, **fields) if "messageId" in fields else None

    @property
    def key(self) -> Key | None:
        return Key.of_row(self.pk, self.sk) if self.pk and self.sk else None

    @property
    def met(self) -> str | None:
        """The message whose claim or turn this one met."""
        return read_message_id(self.because) if self.because else None

    @property
    def is_copy(self) -> bool:
        reason = REASONS.get(self.reason or "")
        return reason.is_copy if reason else self.outcome is Outcome.DUPLICATE

    @property
    def is_settled(self) -> bool:
        """A second delivery of a message whose event was put back settles nothing: it is a copy of
        its own chain, which goes on."""
        if self.reason == "WAITS_ALREADY" and self.met == self.message_id:
            return False
        return self.outcome in SETTLED

    @property
    def sent_requests(self) -> int:
        """Counts requests; a function that failed itself may have sent one."""
        failed = self.reason == "FUNCTION_FAILED" and self.error_class not in NEVER_RAN
        return self.requests if self.requests is not None else int(failed)

    @property
    def has_known_requests(self) -> bool:
        return self.reason != "FUNCTION_FAILED" or not self.sent_requests

    @property
    def due_at_ms(self) -> int:
        """The time at which an event that waits comes back, at the latest."""
        delay_ms = LONGEST_DELAY_MS
        if self.retry_in_seconds is not None:
            delay_ms = min(delay_ms, self.retry_in_seconds * 1000)
        return self.recorded_at_ms + delay_ms

    @property
    def why(self) -> str:
        """The reason in words, with the cause."""
        status = None if self.outcome is Outcome.PROCESSED else self.status
        why = describe_end(self.reason, self.cause or self.error_class, status)
        if self.unconfirmed and self.outcome is Outcome.PROCESSED:
            return f"{why}: the completion write failed" if why else "the completion write failed"
        return why
