"""The outcome log: the line that the state machine writes there for each message of a batch, and
a reader of what came since it last looked."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Self

from once_pacing.breaker_row import LONGEST_STEP_SECONDS
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from once.keys import Key, Owner
from once.outcomes import SETTLED, Outcome
from once.reasons import describe_end

# How the data action says that its login was refused or failed, before any request of an event.
_LOGIN = re.compile("the Genesys login|at the login")
# Lambda could not load the code.
_NEVER_RAN = {
    "Runtime.ImportModuleError",
    "Runtime.HandlerNotFound",
    "Runtime.UserCodeSyntaxError",
    "Runtime.MalformedHandlerName",
}
QUEUE_MS = 480_000  # the queue's own visibility timeout, if no return time was set


class LoggedRecord(BaseModel):
    """The outcome of a message in one execution; a returned message has several."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, frozen=True)

    message_id: str
    outcome: Outcome
    reason: str | None = None
    pk: str | None = Field(None, description="Absent where the message holds no event.")
    sk: str | None = None
    family: str | None = Field(
        None, description="The kind of event; `broken` if the message holds none."
    )
    because: str | None = Field(
        None, description="Owner of the claim that it met: execution, `#`, message."
    )
    copy_of: str | None = Field(
        None, description="Of a copy collapsed in its batch: the message that was kept."
    )
    run: str | None = Field(
        None, description="The execution, of RETRY and PARKED only: else the claim's owner tells."
    )
    requests: int | None = Field(
        None, description="Requests to the destination, in this execution."
    )
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
    route: str | None = Field(None, description="Of IGNORED: the route that took it.")
    error_class: str | None = Field(
        None, description="Of a function that failed: the class of its error."
    )
    note: str | None = Field(
        None, description="Why identity or time had to fall back: Genesys sent another form."
    )
    idempotency_key: str | None = Field(None, description="Sent with the call that acted.")
    duration_ms: int | None = Field(None, description="What the call that acted took.")
    unconfirmed: bool | None = Field(
        None, description="True where the end of its claim could not be written."
    )
    occurred_at_ms: int | None = None
    age_ms: int | None = Field(None, description="From the event to its act; of PROCESSED only.")
    window_ms: int | None = Field(
        None,
        description="Of states that return: equal ones further apart are two occurrences. With "
        "order `changes` it is 0: equal ones of different times are.",
    )
    envelope_id: str | None = None
    event_id: str | None = Field(None, description="The id that the publisher itself gave.")
    source: str | None = Field(
        None, description="Last segment of the source: which integration sent it."
    )
    replay_name: str | None = Field(None, description="The replay of an archive that sent it.")


class OutcomeRecord(LoggedRecord):
    """A record as it is read from the log."""

    recorded_at_ms: int = Field(description="When the line was logged, epoch milliseconds.")

    @classmethod
    def parse(cls, line: str, at_ms: int) -> Self | None:
        """Returns None for the metrics of a batch, which share the log."""
        said = json.loads(line)
        return cls(recorded_at_ms=at_ms, **said) if "messageId" in said else None

    @property
    def key(self) -> Key | None:
        return Key.of_row(self.pk, self.sk) if self.pk and self.sk else None

    @property
    def earlier(self) -> str | None:
        """The message because of which this one was not acted on by itself."""
        return self.copy_of or (Owner.parse(self.because).message_id if self.because else None)

    @property
    def sent_requests(self) -> int:
        """Counts requests without a login that failed, and without a function that never ran."""
        is_login = _LOGIN.search(self.cause or "") is not None
        return max(0, (self.requests or 0) - (is_login or self.error_class in _NEVER_RAN))

    @property
    def has_known_requests(self) -> bool:
        """A function that failed itself may have sent none."""
        return self.error_class is None or self.error_class in _NEVER_RAN

    @property
    def due_at_ms(self) -> int:
        """The time at which an event that was returned to the queue is tried again."""
        return self.returns_at_ms or self.recorded_at_ms + QUEUE_MS

    @property
    def why(self) -> str:
        """The reason in words, with what the destination said."""
        status = None if self.outcome is Outcome.PROCESSED else self.status
        why = describe_end(self.reason, self.cause, status)
        if (self.retry_after_seconds or 0) > LONGEST_STEP_SECONDS:
            why += f", but a request probes every {LONGEST_STEP_SECONDS} s"
        if not self.unconfirmed:
            return why
        return f"{why}: the completion write failed" if why else "the completion write failed"


Records = Mapping[str, Sequence[OutcomeRecord]]


def name_unreached(records: Iterable[OutcomeRecord]) -> list[OutcomeRecord]:
    """Names the cause of NOT_REACHED, which the other records of its execution tell."""
    known = list(records)
    returned = {
        (one.run, one.pk)
        for one in known
        if one.outcome is Outcome.RETRY and one.reason not in ("NOT_REACHED", "COLLAPSED")
    }
    causes = {
        True: "an earlier event of its subject was returned",
        False: "its batch had no time left",
    }
    return [
        one.model_copy(update={"cause": causes[(one.run, one.pk) in returned]})
        if one.reason == "NOT_REACHED"
        else one
        for one in known
    ]


# Executions end in another order than they stamp their records, by less than this.
_OVERLAP_MS = 6_000


class OutcomeLog:
    """Each call of `new` yields the records that no call before it did."""

    def __init__(self, logs: Any, group: str, since_ms: int = 0, pattern: str = "") -> None:
        """A filter `pattern` spares reading what the caller does not need."""
        self._logs = logs
        self._asked = {"logGroupName": group} | ({"filterPattern": pattern} if pattern else {})
        self._newest_ms = since_ms
        self._seen: dict[str, int] = {}

    def new(self) -> Iterator[OutcomeRecord]:
        start = max(0, self._newest_ms - _OVERLAP_MS)
        self._seen = {event: at for event, at in self._seen.items() if at >= start}
        pages = self._logs.get_paginator("filter_log_events").paginate(
            **self._asked, startTime=start
        )
        for page in pages:
            for event in page["events"]:
                if event["eventId"] in self._seen:
                    continue
                self._seen[event["eventId"]] = event["timestamp"]
                self._newest_ms = max(self._newest_ms, event["timestamp"])
                record = OutcomeRecord.parse(event["message"], event["timestamp"])
                if record is not None:
                    yield record


def settled(message_id: str, records: Records) -> OutcomeRecord | None:
    """Returns the record that settled a message."""
    return next((r for r in records.get(message_id, ()) if r.outcome in SETTLED), None)
