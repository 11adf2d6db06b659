"""The contracts that no code of ours reads as a whole: what the state machine writes or sends.

The others are models of the packages that use them; contracts.py lists all.
"""

from typing import Annotated, Any, Literal

from enrichment.elements import Event
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from once import records

PastMs = Annotated[int, Field(gt=0, description="Epoch milliseconds.")]
ExpiresAt = Annotated[
    int,
    Field(gt=0, description="Epoch seconds: DynamoDB's TTL. Long done, the row may go after it."),
]
Owner = Annotated[
    str,
    Field(
        pattern="^.+#.+$",
        description="Who holds or held it: last segment of the execution id, `#`, message id.",
        examples=["3f0c7e1a:5d2b#b0c1"],
    ),
]


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class ClaimRow(_Row):
    """One logical event, and what was decided about it."""

    pk: str = Field(examples=["1f0e6a52/conversation/c0de"])
    """Organisation, subject type and subject id: one Query shows all about a subject."""
    sk: str = Field(pattern="^v[0-9]+/", examples=["v1/conversation.acd.start/p1/s1/1777888800123"])
    """Key version, family and identity parts."""
    status: Literal["IN_PROGRESS", "DONE", "FAILED"]
    """FAILED: an attempt gave up and released the claim; the next one may take it."""
    outcome: Literal["PROCESSED", "STALE", "PARKED", "RETRY"] | None = None
    """Absent while the first attempt works on it."""
    owner: Owner
    message_id: str
    """The queue message of the owner."""
    event_id: str
    """The id that the publisher itself gave the event; empty where it gave none."""
    event_time: PastMs
    """When the event happened, epoch milliseconds; where copies differ, the newest so far."""
    occurrence: int
    """Which happening of the same state this is: the time of its first copy, epoch milliseconds.
    Negative after `once forget`, so that the destination sees another Idempotency-Key."""
    claimed_at: PastMs
    lease_until: PastMs
    """Epoch milliseconds. Until then nobody takes over from the owner."""
    done_at: PastMs | None = None
    expires_at: ExpiresAt
    family: str
    """The kind of event."""
    topic: str
    """The topic as it was received."""
    copies: int = Field(ge=0)
    """Copies that were collapsed into the owner's message within its batch."""


class LatestRow(_Row):
    """The newest event that passed in one lane of a subject: what is older is stale."""

    pk: str
    """As in the claims of the subject."""
    sk: str = Field(pattern="^latest/", examples=["latest/user.presence/PURECLOUD"])
    """The family and, where it declares one, the lane."""
    event_time: PastMs
    """When that event happened, epoch milliseconds."""
    owner: Owner
    message_id: str
    """The queue message of the owner."""
    expires_at: ExpiresAt


class SlotRow(_Row):
    """How many calls were taken from one slot of time; only with MaxActionsPerMinute."""

    pk: Literal["gate"]
    """Shared by all events."""
    sk: str = Field(pattern="^slot/[0-9]+$", examples=["slot/888944400"])
    """Number of the slot since 1970."""
    used: int
    """Calls taken from it, those given back subtracted."""
    expires_at: ExpiresAt


class HealthRow(_Row):
    """How the destination does. There is no such row while it is well."""

    pk: Literal["gate"]
    """Shared by all events."""
    sk: Literal["health"]
    """There is one."""
    since: PastMs | None = None
    """When the count began, epoch milliseconds; it lasts a minute."""
    failed: int | None = Field(None, ge=0)
    """Calls of that minute that failed."""
    acted: int | None = Field(None, ge=0)
    """Calls of that minute that were answered: the event acted, or was refused for good."""
    open_until: PastMs | None = None
    """Nobody calls before then, epoch milliseconds. Absent: it is called as always."""
    pause: int | None = Field(None, gt=0)
    """Seconds of the present pause; a failed probe doubles it."""
    expires_at: ExpiresAt


class ActionRequest(BaseModel):
    """What the state machine sends the data action, ours or a Lambda of your own."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", use_attribute_docstrings=True
    )

    version: Literal["1"]
    """Version of this contract."""
    event: Event
    """The element, whole, as the enrichment made it."""
    idempotency_key: str = Field(pattern=r"^[0-9a-f]{64}(\.[0-9]{1,16})?$")
    """The same on every attempt. In a windowed family the occurrence follows the full stop."""
    deadline_ms: PastMs
    """Epoch milliseconds. Begin no call after it: raise `TooLate`."""
    attempt: int = Field(ge=0)
    """How often this execution has asked before."""
    execution: Owner
    """The claim's owner, for your own logs."""


class _Detail(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, use_attribute_docstrings=True)

    topic_name: str = Field(examples=["v2.users.0af1ce00-0000-4a9e-8000-000000000007.presence"])
    """The topic with its ids; some are nowhere else."""
    event_body: dict[str, Any]
    """The event itself: see the file of its family beside this one."""
    timestamp: Any = None
    """When Genesys published it; stands in for a time that the body lacks."""
    metadata: dict[str, Any] | None = None
    """`CorrelationId` is kept as a trace."""


class Envelope(BaseModel):
    """What is relied on around an event, as EventBridge delivers it. All else passes unread."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    detail_type: str = Field(alias="detail-type", examples=["v2.users.{id}.presence"])
    """The topic's template: it says which family the event is of."""
    source: str | None = None
    """`aws.partner/genesys.com/cloud/ORGANISATION/SUFFIX`, of which the organisation is used."""
    detail: _Detail
    """What Genesys sent."""
    id: str | None = None
    """Kept as a trace: copies differ in it."""
    time: str | None = None
    """When EventBridge took it; the last but one clock to be asked."""
    replay_name: str | None = Field(None, alias="replay-name")
    """Kept as a trace; a replayed event is deduplicated like any other."""


class OutcomeRecord(records.OutcomeRecord):
    """What became of a message in one execution; one that was handed back has several."""

    wait_seconds: int | None = Field(
        None, description="Of RATE_LIMITED only: how long the destination asked to wait."
    )
