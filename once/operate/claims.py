"""The claim table as an operator sees it: what was decided about a subject, and who owns it."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from once.keys import Key, Owner, Subject
from once.operate.stack import Stack
from once.outcomes import Outcome

LATEST = "latest/"

PastMs = Annotated[int, Field(gt=0, description="Epoch milliseconds.")]
ExpiresAt = Annotated[
    int,
    Field(gt=0, description="Epoch seconds: DynamoDB's TTL. Long done, the row may go after it."),
]
ClaimOwner = Annotated[
    str,
    Field(
        pattern="^.+#.+$",
        description="The owner, present or last: last segment of the execution id, `#`, message.",
        examples=["3f0c7e1a:5d2b#b0c1"],
    ),
]


class Status(StrEnum):
    IN_PROGRESS = "IN_PROGRESS"
    DONE = "DONE"
    FAILED = "FAILED"


class _Row(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, validate_by_name=True, frozen=True, use_attribute_docstrings=True
    )


class Claim(_Row):
    """One logical event, and what was decided about it."""

    pk: str = Field(examples=["1f0e6a52/conversation/c0de"])
    """Organisation, subject type and subject id: one Query shows all about a subject."""
    sk: str = Field(pattern="^v[0-9]+/", examples=["v1/conversation.acd.start/p1/s1/1777888800123"])
    """Key version, family and identity parts."""
    status: Status
    """FAILED: an attempt gave up and released the claim; the next one may take it."""
    outcome: Outcome | None = None
    """Absent while the first attempt works on it."""
    owner: ClaimOwner
    message_id: str
    """The queue message of the owner."""
    event_id: str
    """The id that the publisher gave the event; empty if it gave none."""
    event_time: PastMs
    """Time of the event, epoch milliseconds; if copies differ, the newest so far."""
    occurrence: int
    """Occurrence of the state: the time of its first copy, epoch milliseconds.
    Negative after `once forget`, so that the destination sees another Idempotency-Key."""
    tries: int = Field(ge=0)
    """Deliveries whose request failed while other requests succeeded."""
    failed_at: int = Field(ge=0)
    """End of its last failed request, epoch milliseconds; 0: none has failed."""
    cause: str | None = Field(None, max_length=300)
    """The reason for its last return to the queue, in a sentence of ours."""
    claimed_at: PastMs
    lease_until: PastMs
    """Epoch milliseconds. Until then no other execution takes over."""
    done_at: PastMs | None = None
    dropped_at: PastMs | None = None
    """Time at which an operator dropped it, epoch milliseconds; decides nothing."""
    expires_at: ExpiresAt
    family: str
    """The kind of event."""
    topic: str
    """The topic as received; of an event of your own only if it has known words."""
    copies: int = Field(ge=0)
    """Copies that were collapsed into the owner's message within its batch."""

    @property
    def key(self) -> Key:
        return Key.of_row(self.pk, self.sk)

    @property
    def execution(self) -> str:
        return Owner.parse(self.owner).execution

    @property
    def dropped_at_ms(self) -> int | None:
        """The time at which an operator dropped the parked event; a new owner rewrites the row."""
        return self.dropped_at if self.outcome == "PARKED" else None

    def is_held(self, now_ms: int) -> bool:
        return self.status is Status.IN_PROGRESS and self.lease_until >= now_ms

    def free_in_seconds(self, now_ms: int) -> int:
        return (self.lease_until - now_ms) // 1000 + 1


class Latest(_Row):
    """The newest event of a family in a subject: older ones are stale."""

    pk: str
    """The `pk` of the claims of the subject."""
    sk: str = Field(pattern="^latest/", examples=["latest/user.presence/PURECLOUD"])
    """The family, and the parts of a subject that vary independently, if it declares any."""
    event_time: PastMs
    """Time of that event, epoch milliseconds."""
    state: str
    """Sort key of its claim: with order `changes` it names the state. Empty after a state that may
    be older or newer than another one."""
    owner: ClaimOwner
    expires_at: ExpiresAt


def read_subject(stack: Stack, subject: Subject) -> tuple[list[Claim], list[Latest]]:
    """Reads every row of one subject, in the order of its events."""
    claims, latest = [], []
    pages = stack.client("dynamodb").get_paginator("query")
    for page in pages.paginate(
        TableName=stack.outputs["ClaimTableName"],
        KeyConditionExpression="pk = :pk",
        ExpressionAttributeValues={":pk": {"S": str(subject)}},
    ):
        for item in page["Items"]:
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


def expire_at(stack: Stack, now_ms: int) -> dict[str, str]:
    """Says when a row expires that is written now, as DynamoDB wants it."""
    days = int(stack.parameters.get("ClaimDays", "30"))
    return {"N": str(now_ms // 1000 + days * 86_400)}
