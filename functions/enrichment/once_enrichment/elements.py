"""The elements that the enrichment returns, one for each queue message, and their words."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from once_enrichment.contract import IgnoredReason, ParkedReason, RetryReason


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
    """The fields of every element about its queue message."""

    message_id: str
    """The messageId of the queue message."""
    receives: int = Field(ge=0)
    """The number of its receives: ApproximateReceiveCount."""
    sent_at_ms: int = Field(ge=0, le=253_402_300_799_999)
    """The time at which it was sent to the queue: SentTimestamp."""
    subject_key: str
    """Elements with the same one are settled one after the other."""


class _Received(_Message):
    receipt_handle: str = Field(repr=False)
    """Needed to set the message's return time. Neither logged nor passed on."""


class Subject(_Model):
    """The subject: what the event is about."""

    type: str = Field(examples=["conversation", "user", "queue"])
    id: str


class Key(_Model):
    """The identity of the logical event: copies share it, other events never do."""

    pk: str = Field(pattern="^[^/]+/[^/]+/[^/]+$", examples=["5a0d2b3c/conversation/7f3e"])
    """Organisation, subject type and subject id."""
    sk: str = Field(pattern="^v[0-9]+/[^/]+/")
    """Key version, family and identity parts."""


class Policy(_Model):
    """The claim's rules for events of the same key."""

    window_ms: int = Field(ge=0)
    """0: the key alone decides. Otherwise copies lie at most this far apart."""
    order: Literal["none", "latest", "changes"]
    """`latest`: an event is stale if a newer one was settled. `changes`: the same, and the key
    names a state: each `occurredAtMs` is an occurrence of its own, and a state that equals the
    newest settled one is unchanged."""
    latest: str | None = Field(None, pattern="^latest/")
    """Sort key of the row that holds the latest event; absent with `order: none`."""


class Reference(_Model):
    """The place of a part that is too large for the state machine."""

    bucket: str
    key: str


class Route(_Model):
    """The first route that matches the event; an event without one is acted on."""

    name: str
    """The name in the file; its family if the file gives it no name."""
    action: str = Field(examples=["send", "none", "custom_-_0a1b2c3d"])
    """The id of a data action, `send` or `none`."""
    inputs: dict[str, str] | None = None
    """Inputs of the data action, by where they come from; absent: the common ones."""
    ignored: IgnoredReason | None = None
    detail: str | None = Field(None, max_length=300)
    """The conditions of the routes for the event's family, if none of them matched."""


class Trace(_Model):
    """The path of the message. Copies differ in it, so it is never part of the identity."""

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
    metadata: dict[str, Any] | None = None
    """The publisher's metadata without the correlation id; absent if empty."""
    trace: Trace
    route: Route | None = None
    expires_at_ms: EpochMs | None = None
    """The event is not acted on after this; absent if its route has no `max_age`."""
    note: str | None = None
    """Why the whole body is the identity, or another clock gave the time."""
    canary: Literal[True] | None = None
    """`once check` sent the event to test the stack: no destination gets it."""


class Event(ActionEvent, _Received):
    """One normalised event."""


class Copy(_Received):
    """A message that carries the same logical event as another message of its batch."""

    kind: Literal["copy"]
    copy_of: str
    """The messageId of the kept message, whose verdict the copy shares."""
    occurred_at_ms: EpochMs
    trace: Trace


class Parked(_Received):
    """A message without an event, with its text and the reason."""

    kind: Literal["parked"]
    reason: ParkedReason
    detail: str
    first_sent_at_ms: EpochMs | None = None
    """The time at which the message was first sent; a replay keeps it."""
    raw: str | None = None
    raw_ref: Reference | None = None


class Retry(_Received):
    """An event that could not be prepared this time; its message returns to the queue."""

    kind: Literal["retry"]
    reason: RetryReason
    detail: str


Element = Annotated[Event | Copy | Parked | Retry, Field(discriminator="kind")]
