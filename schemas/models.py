"""The contracts that no code of the project reads as a whole: what its parts write to each
other."""

from typing import Annotated, Any, Literal

from once_data_action.request import WebhookRequest
from once_enrichment.routes import IgnoredReason
from pydantic import BaseModel, ConfigDict, Field, with_config
from pydantic.alias_generators import to_camel

# A dataclass of a function that has no pydantic: its fields are documented all the same.
with_config(use_attribute_docstrings=True)(WebhookRequest)

EpochMs = Annotated[int, Field(gt=0, le=253_402_300_799_999)]
EpochSeconds = Annotated[int, Field(gt=0)]
IsoTime = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")]
Owner = Annotated[str, Field(pattern="^.+#.+$", examples=["3f0c7e1a5d2b#b0c1"])]


class _Model(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        validate_by_name=True,
        extra="forbid",
        use_attribute_docstrings=True,
    )


class Subject(_Model):
    """The subject: what the event is about."""

    type: str = Field(examples=["conversation", "user", "queue"])
    """Its kind."""
    id: str
    """Its id."""


class Key(_Model):
    """The identity of the event: copies share it, other events never do."""

    pk: str = Field(pattern="^[^/]+/[^/]+/[^/]+$", examples=["5a0d2b3c/conversation/7f3e"])
    """Organisation, subject type and subject id."""
    sk: str = Field(pattern="^v2/[^/]+")
    """Key version, family and identity parts."""


class Policy(_Model):
    """The claim's rules for events of the same key."""

    window_ms: int = Field(ge=0)
    """0: the key alone decides. Otherwise copies lie at most this far apart."""
    order: Literal["none", "latest", "changes", "every"]
    """`latest`: an event is stale if a newer event was settled. `changes`: the same, each
    `occurredAtMs` is an occurrence of its own, and an event with the facts of the newest settled
    event is unchanged. `every`: each change is acted on, and the newest state is noted."""
    latest: str | None = Field(None, pattern="^latest/")
    """Sort key of the row that holds the latest event; absent with `order: none`."""


class Route(_Model):
    """The first route that matches the event."""

    name: str
    """The name in the file; its family if the file gives it no name."""
    action: str = Field(examples=["send", "none", "custom_-_0a1b2c3d"])
    """The id of a data action, `send` or `none`."""
    inputs: dict[str, str] | None = None
    """Inputs of the data action, by where they come from; absent: the common inputs."""
    ignored: IgnoredReason | None = None
    """The reason for which no request is sent."""
    detail: str | None = Field(None, max_length=300)
    """The condition that the event does not meet, if no route matched."""


class Trace(_Model):
    """The path of the message. Copies differ in it, so it is never part of the identity."""

    event_id: str | None = None
    """The id that the publisher itself gave the event."""
    envelope_id: str | None = None
    """The id that EventBridge gave the envelope."""
    correlation_id: str | None = None
    """Genesys' CorrelationId."""
    replay_name: str | None = None
    """The EventBridge replay that sent it."""
    source: str | None = None
    """The EventBridge source."""


class Event(_Model):
    """One message of the queue, as the enrichment returns it: an event, or `broken`."""

    version: Literal["2"]
    """Version of this contract."""
    first_message_id: str
    """The first message of the chain that carries the event."""
    first_sent_at_ms: int = Field(ge=0)
    """The time at which the first message was sent; it dates an event without a time."""
    waits_since_ms: int = Field(ge=0)
    """The time since which the event waits."""
    receives: int = Field(ge=0)
    """The number of its receives: ApproximateReceiveCount."""
    after: Owner | None = None
    """The owner whose claim this message goes on from."""
    due_at_ms: EpochMs | None = None
    """The time at which the message that goes on from the claim is due, if it was put back."""
    last_reason: str | None = None
    """The reason for which it was put back."""
    broken: Literal["UNREADABLE"] | None = None
    """Present if the message holds no event that could be decided on."""
    detail: str | None = Field(None, pattern="^[A-Z_]+: ")
    """Why it is broken: a code and a sentence."""
    family: str
    """The kind of event, as docs/families.md lists them; `broken` of a broken message."""
    topic: str
    """The topic as it was received, with a hash for each word that may be about a person."""
    organization_id: str | None = None
    """The Genesys Cloud organisation, from the source."""
    subject: Subject
    state: str | None = None
    """The new state, if the family tells it in one word."""
    plain_state: str | None = None
    """The same for the log, unless it may be text about a person."""
    occurred_at: IsoTime
    """The time of the event: ISO 8601, UTC, milliseconds."""
    occurred_at_ms: EpochMs
    """The same in epoch milliseconds."""
    published_at: IsoTime | None = None
    """The time at which its publisher sent it."""
    ids: dict[str, str]
    """All ids in it by name: conversationId, queueId, …"""
    key: Key
    key_hash: str = Field(pattern="^[0-9a-f]{64}$")
    """SHA-256 of pk, newline, sk."""
    policy: Policy
    facts: str | None = Field(None, pattern="^[0-9a-f]{32}$")
    """Hash of the fields that count, with the route's name; present with order `changes`."""
    route: Route | None = None
    """Absent if the event is a canary or broken."""
    expires_at_ms: EpochMs | None = None
    """The event is not acted on after this; absent if its route has no `max_age`."""
    trace: Trace
    note: str | None = None
    """Why identity, facts or time had to fall back."""
    metadata: dict[str, Any] | None = None
    """The publisher's metadata without the correlation id; absent if empty."""
    canary: Literal[True] | None = None
    """`once check` sent the event to test the stack: no destination gets it."""
    raw: str
    """The message as it came, without what the project wrote around it."""
    body_path: list[str] = Field(examples=[["detail", "eventBody"]])
    """The keys from `raw` to the body. A value on the way that is text is JSON to be parsed, and a
    body that is null is an empty object."""


class Once(_Model):
    """Holds what the project remembers of a message that it sends itself. All is optional."""

    first_message_id: str | None = None
    """The first message of the event's chain."""
    first_sent_at_ms: EpochMs | None = None
    """The time at which the first message was sent; it never changes."""
    waits_since_ms: EpochMs | None = None
    """The time since which the event waits; parking and replaying begin it anew."""
    after: Owner | None = None
    """The owner whose claim this message goes on from."""
    due_at_ms: EpochMs | None = None
    """The time at which the message that goes on from the claim is due; only of a put-back."""
    canary: Literal[True] | None = None
    """`once check` sent the event."""
    reason: str | None = None
    """Why the event was put back or parked, by its code."""
    cause: str | None = None
    """Why the event was parked, in a sentence."""
    key: str | None = None
    """The parked event's pk and sk, with a space between them."""
    parked_at_ms: EpochMs | None = None
    """The time at which it was parked."""


class Message(_Model):
    """The body of a message that was put back, parked or replayed."""

    once: Once
    event: str
    """The message as it came."""


class ActionRequest(_Model):
    """The request of the state machine to the data action function."""

    version: Literal["3"]
    """Version of this contract."""
    event: Event
    """The element, whole, as the enrichment made it."""
    idempotency_key: str = Field(pattern=r"^[0-9a-f]{64}(\.[0-9]{1,16})?$")
    """The same on every attempt. If a state can return, the occurrence follows the full stop."""
    owner: Owner
    """Name of the execution, `#`, the first message of the event's chain."""
    tries: int = Field(ge=0)
    """Failed deliveries that count towards `MaxTries`."""
    failed_at_ms: int = Field(ge=0)
    """End of its last failed request, epoch milliseconds; 0: none has failed."""
    deaths: int = Field(0, ge=0)
    """Claims of this event whose owner ended without an answer."""
    retry: int = Field(0, ge=0)
    """Requests that this execution sent before."""


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class BreakerRow(_Row):
    """The circuit breaker. The row does not exist while requests succeed."""

    pk: Literal["pace"]
    """Shared by all events."""
    sk: Literal["breaker"]
    """There is one such row."""
    since: EpochMs | None = None
    """Begin of the first failed request or of the pause, epoch milliseconds."""
    failed: set[str] | None = Field(None, examples=[["0a1b2c3d4e5f6071"]])
    """First 16 digits of the idempotency keys of events that failed for the first time."""
    open_until: EpochMs | None = None
    """No request before then, epoch milliseconds; then one event probes. Absent: it only counts."""
    not_before: EpochMs | None = None
    """No request before then, epoch milliseconds, because of a 429 or a pause."""
    held: str | None = None
    """Why an operator paused requests until `not_before`; only by `once pause`."""
    held_by: str | None = None
    """The operator who paused them."""
    held_at: EpochMs | None = None
    """Begin of the pause, epoch milliseconds."""
    expires_at: EpochSeconds
    """DynamoDB's TTL, epoch seconds."""


class SlotRow(_Row):
    """The requests taken from one slot of time; only with MaxActionsPerMinute."""

    pk: Literal["pace"]
    """Shared by all events."""
    sk: str = Field(pattern="^slot/[0-9]+$", examples=["slot/888944400"])
    """Number of the slot since 1970."""
    used: int
    """Requests taken from it."""
    expires_at: EpochSeconds
    """DynamoDB's TTL, epoch seconds."""


class BusEvent(BaseModel):
    """An event on the target bus, as its rules match and deliver it."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    version: Literal["0"]
    """EventBridge's own version of the fields around `detail`."""
    id: str
    """EventBridge's own id, another one if an event is put again: compare `idempotencyKey`."""
    detail_type: str = Field(alias="detail-type", examples=["conversation.user.end"])
    """The kind of event, as `detail.family`."""
    source: Literal["genesys-once"]
    """Events of `once check` have `genesys-once.check` here."""
    account: str
    """The AWS account of the stack."""
    time: str
    """Time of the event, to the second."""
    region: str
    """The AWS region of the bus."""
    resources: list[str] = Field(examples=[["conversation/4c8e0001-0000-4000-8000-000000000001"]])
    """The subject of the event: type and id."""
    detail: WebhookRequest
    """The same JSON as a webhook gets."""
