"""The outcome record: the one line that the state machine logs for each message of a batch."""

import json
from typing import Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from once.run.report import Outcome


class OutcomeRecord(BaseModel):
    """What became of a message in one execution; one that was handed back has several."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, frozen=True)

    message_id: str
    outcome: Outcome
    reason: str | None = None
    pk: str | None = Field(None, description="Absent where the message holds no event.")
    sk: str | None = None
    family: str | None = None
    because: str | None = Field(
        None, description="Owner of the claim that it met: execution, `#`, message."
    )
    copy_of: str | None = Field(
        None, description="Of a copy collapsed in its batch: the message that was kept."
    )
    run: str | None = Field(
        None, description="The execution, of RETRY and PARKED only: else the claim's owner tells."
    )
    calls: int | None = Field(None, description="Calls to the destination, in this execution.")
    tries: int | None = Field(
        None, description="Deliveries so far in which a call failed it while others were answered."
    )
    failed_at_ms: int | None = Field(None, description="When its last failed call ended.")
    first_failure: bool | None = Field(None, description="True where no call had failed before.")
    unnoted: bool | None = Field(
        None, description="True where the function could not note the failure for the breaker."
    )
    returns_at_ms: int | None = Field(
        None, description="When its message is seen again; absent: after the queue's own time."
    )
    lease_until_ms: int | None = Field(
        None, description="Of HELD: until when another execution may work on it."
    )
    status: int | None = Field(
        None, description="The destination's HTTP status, where it gave one."
    )
    retry_after_seconds: int | None = Field(None, description="Of RATE_LIMITED, as it was asked.")
    cause: str | None = Field(
        None, description="What was wrong, in a sentence of ours, without a word of the event."
    )
    idempotency_key: str | None = Field(None, description="Sent with the call that acted.")
    duration_ms: int | None = Field(None, description="What the call that acted took.")
    unmarked: bool | None = Field(
        None, description="True where the end of its claim could not be written."
    )
    occurred_at_ms: int | None = None
    age_ms: int | None = Field(None, description="From the event to its act; of PROCESSED only.")
    window_ms: int | None = Field(None, description="Of windowed families only.")
    envelope_id: str | None = None
    event_id: str | None = Field(None, description="The id that the publisher itself gave.")
    source: str | None = Field(
        None, description="Last segment of the source: which integration sent it."
    )
    recorded_at_ms: int = Field(exclude=True, description="When the line was logged.")

    @classmethod
    def read(cls, line: str, at_ms: int) -> Self | None:
        """A line of the outcome log; None for the metrics of a batch, which share the log."""
        said = json.loads(line)
        return cls(recorded_at_ms=at_ms, **said) if "messageId" in said else None
