"""The rows of the claim table as an operator sees them: the claim of an event, and the newest state
of a subject."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from once.model.base import Model
from once.model.keys import Key, read_message_id
from once.model.outcomes import Outcome

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
        description="The owner, present or last: name of the execution, `#`, first message.",
        examples=["5d2b1f0e#b0c1"],
    ),
]


class Status(StrEnum):
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
    status: Status
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
    def message_id(self) -> str:
        return read_message_id(self.owner)

    @property
    def dropped_at_ms(self) -> int | None:
        """The time at which an operator dropped the parked event; a new owner rewrites the row."""
        return self.dropped_at if self.outcome is Outcome.PARKED else None

    def is_held(self, now_ms: int) -> bool:
        return self.status is Status.IN_PROGRESS and self.lease_until >= now_ms

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
