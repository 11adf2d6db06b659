"""The traces of an event in a stack: its key, the rows of the claim table, the outcome record.

The state machine writes a record to the outcome log for each execution. Nothing else cuts a name
by position.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Annotated, Any, Self
from urllib.parse import unquote

from once_enrichment.families import FAMILIES, Family, family_name
from pydantic import ConfigDict, Field

from once.model import Model
from once.model.reasons import REASONS, SETTLED, Outcome, describe_end

LATEST = "latest/"
LONGEST_DELAY_MS = 900_000  # SQS delays a message by 15 minutes at most
GRACE_MS = 300_000  # a running pipe takes a message within minutes after its return
_SPACE = re.compile(r" (?=v[0-9]+/)")


@dataclass(frozen=True)
class Subject:
    """The thing that an event is about: the partition key of its rows."""

    organisation: str
    kind: str
    id: str

    @classmethod
    def parse(cls, pk: str) -> Self:
        organisation, kind, subject = pk.split("/", 2)
        return cls(organisation, kind, subject)

    def __str__(self) -> str:
        return f"{self.organisation}/{self.kind}/{self.id}"


@dataclass(frozen=True)
class Key:
    """The identity of an event: copies share it."""

    subject: Subject
    sk: str

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Reads `pk/sk`, or `pk sk` as the body of a parked event has it; returns None for a text
        that names at most a subject."""
        parts = _SPACE.sub("/", text, count=1).split("/", 3)
        return cls(Subject(*parts[:3]), parts[3]) if len(parts) == 4 and parts[3] else None

    @classmethod
    def of_row(cls, pk: str, sk: str) -> Self:
        return cls(Subject.parse(pk), sk)

    def __str__(self) -> str:
        return f"{self.subject}/{self.sk}"

    @property
    def family(self) -> str:
        return unquote(self.sk.split("/")[1])


def read_message_id(owner: str) -> str:
    """Reads the first message of the chain out of an owner: `execution#message`."""
    return owner.rpartition("#")[2]


PastMs = Annotated[int, Field(gt=0, description="Epoch milliseconds.")]
ExpiresAt = Annotated[
    int,
    Field(gt=0, description="Epoch seconds: DynamoDB's TTL. Long done, the row may go after it."),
]
ClaimOwner = Annotated[
    str,
    Field(
        pattern="^.+#.+$",
        description="The owner, present or last: name of the execution, `#`, first message.",
        examples=["5d2b1f0e#b0c1"],
    ),
]


class ClaimStatus(StrEnum):
    IN_PROGRESS = "IN_PROGRESS"
    DONE = "DONE"
    FAILED = "FAILED"


class _Row(Model):
    model_config = ConfigDict(frozen=True)


class Claim(_Row):
    """One event, and what was decided about it."""

    pk: str = Field(examples=["1f0e6a52/conversation/c0de"])
    """Organisation, subject type and subject id: one Query shows all about a subject."""
    sk: str = Field(pattern="^v[0-9]+/", examples=["v2/conversation.acd.start/p1/s1/1777888800123"])
    """Key version, family and identity parts."""
    status: ClaimStatus
    """FAILED: the event waits, and the message that was put back may take the claim."""
    outcome: Outcome | None = None
    """Absent while the first attempt works on it."""
    owner: ClaimOwner
    event_id: str = ""
    """The id that the publisher gave the event; empty if it gave none."""
    event_time: PastMs
    """Time of the event, epoch milliseconds; if copies differ, the newest so far."""
    occurrence: int
    """Occurrence of the state: the time of its first copy, epoch milliseconds.
    Negative after `once forget`, so that the destination sees another Idempotency-Key."""
    tries: int = Field(0, ge=0)
    """Deliveries whose request failed while other requests succeeded."""
    failed_at: int = Field(0, ge=0)
    """End of its last failed request, epoch milliseconds; 0: none has failed."""
    deaths: int = Field(0, ge=0)
    """Owners whose lease ended before they had an answer."""
    cause: str | None = Field(None, max_length=300)
    """Why it was put back or parked, in a sentence of ours."""
    claimed_at: PastMs
    lease_until: PastMs
    """Epoch milliseconds. Until then no other execution takes over."""
    done_at: PastMs | None = None
    due_at: PastMs | None = None
    """The latest time at which the message of a waiting event comes back."""
    dropped_at: PastMs | None = None
    """Time at which an operator dropped it, epoch milliseconds; decides nothing."""
    expires_at: ExpiresAt
    family: str
    topic: str
    """The topic as received; of an event of your own only if it has known words."""

    @property
    def key(self) -> Key:
        return Key.of_row(self.pk, self.sk)

    @property
    def first_message_id(self) -> str:
        return read_message_id(self.owner)

    @property
    def dropped_at_ms(self) -> int | None:
        """The time at which an operator dropped the parked event; a new owner rewrites the row."""
        return self.dropped_at if self.outcome is Outcome.PARKED else None

    def is_held(self, now_ms: int) -> bool:
        return self.status is ClaimStatus.IN_PROGRESS and self.lease_until >= now_ms

    def free_in_seconds(self, now_ms: int) -> int:
        return (self.lease_until - now_ms) // 1000 + 1


class Latest(_Row):
    """The newest state of a family in a subject: older ones are stale."""

    pk: str
    """The `pk` of the claims of the subject."""
    sk: str = Field(pattern="^latest/", examples=["latest/user.presence/PURECLOUD"])
    """The family, and the parts of a subject that vary independently, if it declares any."""
    event_time: PastMs | None = None
    """Time of the newest wanted state."""
    facts: str = ""
    """The facts of that state. Empty if it may be older or newer than another one."""
    owner: str = ""
    """The owner whose turn it is, or was last."""
    claim: str = ""
    """Sort key of that owner's claim."""
    turn_until: PastMs | None = None
    """The latest time at which the turn ends."""
    unwanted_time: PastMs | None = None
    """Time of the newest state that no route wanted, or whose route wants every change."""
    expires_at: ExpiresAt


def read_rows(items: Iterable[Mapping[str, Any]]) -> tuple[list[Claim], list[Latest]]:
    """Reads items as DynamoDB returns them, the claims in the order of their events."""
    claims, latest = [], []
    for item in items:
        # Numbers stay text, which the models read.
        row = {name: next(iter(value.values())) for name, value in item.items()}
        if row["sk"].startswith(LATEST):
            latest.append(Latest.model_validate(row))
        else:
            claims.append(Claim.model_validate(row))
    return sorted(claims, key=lambda claim: claim.event_time), latest


def row_key(key: Key) -> dict[str, Any]:
    """Names the row of a key, as DynamoDB wants it."""
    return {"pk": {"S": str(key.subject)}, "sk": {"S": key.sk}}


@cache
def declared() -> list[tuple[str, Family]]:
    """Returns each declared family with its name, once for each of its topics."""
    return [(family_name(topic), family) for family in FAMILIES for topic in family.topics]


@cache
def windowed() -> frozenset[str]:
    """Returns the families whose copies differ in time: with `every`, each copy would act."""
    return frozenset(
        name for name, family in declared() if not family.time and family.order != "changes"
    )


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

    first_message_id: str = Field(
        description="The first message of the chain that carried the event."
    )
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
    aws_error: str | None = Field(
        None, description="Of AWS, if the table or a queue took no request."
    )
    lease_until_ms: int | None = Field(None, description="Until when the claim is kept.")
    unconfirmed: bool | None = Field(None, description="True if the end was not written.")


class Record(LoggedRecord):
    """A record as it is read from the log."""

    recorded_at_ms: int = Field(description="When the line was logged, epoch milliseconds.")

    @classmethod
    def parse(cls, line: str, recorded_at_ms: int) -> Self | None:
        """Returns None for a line that is no record."""
        fields = json.loads(line)
        return cls(recorded_at_ms=recorded_at_ms, **fields) if "firstMessageId" in fields else None

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
        if self.reason == "WAITS_ALREADY" and self.met == self.first_message_id:
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
        cause = self.aws_error or self.cause or self.error_class
        why = describe_end(self.reason, cause, status)
        if self.unconfirmed and self.outcome is Outcome.PROCESSED:
            return f"{why}: the completion write failed" if why else "the completion write failed"
        return why
