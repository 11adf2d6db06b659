"""What the enrichment answers: one element for each queue message, and the words it may use."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from enrichment.contract import ParkedReason, RetryReason


class _Model(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        extra="forbid",
        frozen=True,
        defer_build=True,
        use_attribute_docstrings=True,
    )


EpochMs = Annotated[int, Field(gt=0, le=253_402_300_799_999)]
IsoTime = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")]


class _Message(_Model):
    """What every element says of the queue message that it was made of."""

    message_id: str
    """The messageId of the queue message."""
    receives: int = Field(ge=0)
    """How often the queue has handed it out: ApproximateReceiveCount."""
    sent_at_ms: int = Field(ge=0, le=253_402_300_799_999)
    """When it was sent to the queue: SentTimestamp."""
    subject_key: str
    """Elements with the same one are settled one after the other."""


class _Received(_Message):
    receipt_handle: str = Field(repr=False)
    """With it the message's return time is set. Neither logged nor passed on."""


class Subject(_Model):
    """What the event is about."""

    type: str = Field(examples=["conversation", "user", "queue"])
    id: str


class Key(_Model):
    """The identity of the logical event: copies share it, other events never do."""

    pk: str = Field(pattern="^[^/]+/[^/]+/[^/]+$", examples=["5a0d2b3c/conversation/7f3e"])
    """Organisation, subject type and subject id."""
    sk: str = Field(pattern="^v[0-9]+/[^/]+/")
    """Key version, family and identity parts."""


class Policy(_Model):
    """How the claim treats events of the same key."""

    window_ms: int = Field(ge=0)
    """0: the key alone decides. Otherwise copies lie at most this far apart."""
    order: Literal["none", "latest"]
    """`latest`: an event older than the latest that was settled is stale."""
    latest: str | None = Field(None, pattern="^latest/")
    """Sort key of the row that holds the latest event; only with `order: latest`."""


class Reference(_Model):
    """Where a part too large for the state machine is kept."""

    bucket: str
    key: str


class Trace(_Model):
    """How the message travelled. Copies differ in it, so it is never identity."""

    event_id: str | None = None
    """The id that the publisher itself gave the event."""
    envelope_id: str | None = None
    correlation_id: str | None = None
    replay_name: str | None = None
    source: str | None = None


class ActionEvent(_Message):
    """A normalised event as the data action gets it, without what changes the queue."""

    kind: Literal["event"]
    version: Literal["1"]
    family: str
    free_family: Literal[True] | None = None
    """The family's name is made of the event's own text, so it must be no dimension of a metric."""
    topic: str
    organization_id: str | None = None
    subject: Subject
    state: str | None = None
    occurred_at: IsoTime
    occurred_at_ms: EpochMs
    published_at: IsoTime | None = None
    ids: dict[str, str]
    key: Key
    idempotency_key: str = Field(pattern="^[0-9a-f]{64}$")
    policy: Policy
    body: dict[str, Any] | None = None
    body_ref: Reference | None = None
    trace: Trace
    note: str | None = None
    """Says where identity or time had to fall back."""


class Event(ActionEvent, _Received):
    """One normalised event."""


class Copy(_Received):
    """A message that carries the same logical event as another message of its batch."""

    kind: Literal["copy"]
    copy_of: str
    """The messageId of the one that was kept, whose verdict it shares."""
    occurred_at_ms: EpochMs
    trace: Trace


class Parked(_Received):
    """A message that holds no event, with its text and the reason."""

    kind: Literal["parked"]
    reason: ParkedReason
    detail: str
    first_sent_at_ms: EpochMs | None = None
    """When the message was sent first; who sends it once more passes it on."""
    raw: str | None = None
    raw_ref: Reference | None = None


class Retry(_Received):
    """An event that could not be prepared this time; its message is handed back to the queue."""

    kind: Literal["retry"]
    reason: RetryReason
    detail: str


Element = Annotated[Event | Copy | Parked | Retry, Field(discriminator="kind")]
