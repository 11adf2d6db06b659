"""The outcome log: the line that the state machine writes there for each message of a batch, and
a reader of what came since it last looked."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from once.outcomes import SETTLED, Outcome


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


Records = Mapping[str, Sequence[OutcomeRecord]]

# Executions end in another order than they stamp their records, by less than this.
_OVERLAP_MS = 6_000


class OutcomeLog:
    """Each call of `new` yields the records that no call before it did."""

    def __init__(self, logs: Any, group: str, since_ms: int = 0) -> None:
        self._logs = logs
        self._group = group
        self._newest_ms = since_ms
        self._seen: dict[str, int] = {}

    def new(self) -> Iterator[OutcomeRecord]:
        start = max(0, self._newest_ms - _OVERLAP_MS)
        self._seen = {event: at for event, at in self._seen.items() if at >= start}
        pages = self._logs.get_paginator("filter_log_events").paginate(
            logGroupName=self._group, startTime=start
        )
        for page in pages:
            for event in page["events"]:
                if event["eventId"] in self._seen:
                    continue
                self._seen[event["eventId"]] = event["timestamp"]
                self._newest_ms = max(self._newest_ms, event["timestamp"])
                record = OutcomeRecord.read(event["message"], event["timestamp"])
                if record is not None:
                    yield record


def settled(message_id: str, records: Records) -> OutcomeRecord | None:
    """What a message ended as."""
    return next((r for r in records.get(message_id, ()) if r.outcome in SETTLED), None)
