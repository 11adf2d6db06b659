"""The contracts that no code of ours reads as a whole: what the state machine writes or sends.

The others are models of the packages that use them; contracts.py lists all.
"""

from typing import Annotated, Any, Literal

from enrichment.elements import ActionEvent
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
    tries: int = Field(ge=0)
    """Deliveries in which the destination was called and failed it, while others were answered."""
    failed_at: int = Field(ge=0)
    """When its last failed call ended, epoch milliseconds; 0: none has failed."""
    cause: str | None = Field(None, max_length=300)
    """What was wrong when it was last handed back, in a sentence of ours."""
    claimed_at: PastMs
    lease_until: PastMs
    """Epoch milliseconds. Until then nobody takes over from the owner."""
    done_at: PastMs | None = None
    dropped_at: PastMs | None = None
    """When a person deleted it from the parking queue, epoch milliseconds; decides nothing."""
    expires_at: ExpiresAt
    family: str
    """The kind of event."""
    topic: str
    """The topic as it was received; of an event of your own, only where it holds known words."""
    copies: int = Field(ge=0)
    """Copies that were collapsed into the owner's message within its batch."""


class LatestRow(_Row):
    """The newest event of a family that passed in a subject: what is older is stale."""

    pk: str
    """As in the claims of the subject."""
    sk: str = Field(pattern="^latest/", examples=["latest/user.presence/PURECLOUD"])
    """The family, and what tells apart more than one latest of a subject where it declares that."""
    event_time: PastMs
    """When that event happened, epoch milliseconds."""
    owner: Owner
    message_id: str
    """The queue message of the owner."""
    expires_at: ExpiresAt


class SlotRow(_Row):
    """How many calls were taken from one slot of time; only with MaxActionsPerMinute."""

    pk: Literal["pace"]
    """Shared by all events."""
    sk: str = Field(pattern="^slot/[0-9]+$", examples=["slot/888944400"])
    """Number of the slot since 1970."""
    used: int
    """Calls taken from it, those given back subtracted."""
    expires_at: ExpiresAt


class BreakerRow(_Row):
    """The circuit breaker. There is no such row while calls are answered."""

    pk: Literal["pace"]
    """Shared by all events."""
    sk: Literal["breaker"]
    """There is one."""
    since: PastMs | None = None
    """When the first failed call began, epoch milliseconds; of a hold, when it was set."""
    failed: set[str] | None = Field(None, examples=[["0a1b2c3d4e5f6071"]])
    """First 16 digits of the idempotency keys of events that failed for the first time. With 20 of
    them, 9 seconds after `since`, the breaker opens."""
    open_until: PastMs | None = None
    """Nobody calls before then, epoch milliseconds; then one batch probes. Absent: it counts."""
    not_before: PastMs | None = None
    """Nobody calls before then, epoch milliseconds: the destination asked for it, or a person."""
    held: str | None = None
    """Who holds all calls until `not_before`, and why; only by `once hold`."""
    expires_at: ExpiresAt


class Pace(BaseModel):
    """What the batch read of the breaker's row. No row, no pace."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", use_attribute_docstrings=True
    )

    since: PastMs | None = None
    """Start of the first call that failed or was limited, epoch milliseconds."""
    not_before: PastMs | None = None
    """Until when the destination asked to be left alone, epoch milliseconds."""


class ActionRequest(BaseModel):
    """What the state machine sends the data action, ours or a Lambda of your own."""

    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", use_attribute_docstrings=True
    )

    version: Literal["2"]
    """Version of this contract."""
    event: ActionEvent
    """The element, whole, as the enrichment made it."""
    idempotency_key: str = Field(pattern=r"^[0-9a-f]{64}(\.[0-9]{1,16})?$")
    """The same on every attempt. In a windowed family the occurrence follows the full stop."""
    deadline_ms: PastMs
    """Epoch milliseconds. Begin no call after it: raise `TooLate`; if `retry` is 1, `Failed`."""
    calls_allowed: Literal[1, 2]
    """How many calls this execution may make. Raise `Transient` only if one is left."""
    retry: Literal[0, 1]
    """How many it has made before this invocation."""
    execution: Owner
    """The claim's owner, for your own logs."""
    pace: Pace | None = None
    """How the destination was as the batch began; for our own function."""
    breaker_unread: bool = False
    """Whether that could not be read; for our own function."""
    failed_before: bool = False
    """Whether a call for this event failed before; for our own function."""


class _Pacing(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", use_attribute_docstrings=True
    )


class _Breaker(_Pacing):
    """The breaker's row as the batch read it at its start."""

    since: PastMs | None = None
    """When the first failed call began."""
    failed: int | None = Field(None, ge=0)
    """How many keys are in its set."""
    open_until: PastMs | None = None
    """Absent while it only counts."""
    not_before: PastMs | None = None
    """Of a 429, or of a hold."""
    held: str | None = None
    """Of a hold only."""


class _Candidate(_Pacing):
    """An event that would be called for: no copy, and nothing that was parked."""

    message_id: str
    subject_key: str
    occurred_at_ms: int
    receives: int = Field(ge=1)
    """Where one event probes, it is the one with the fewest."""
    sent_at_ms: PastMs
    """After ten days it is allowed whatever the pace says: it is parked, not called for."""


class PaceBegin(_Pacing):
    """What the state machine asks the pacing function before the calls of a batch: only with a
    limit, while the breaker has a row, or where that row could not be read."""

    version: Literal["1"]
    ask: Literal["begin"]
    run: str
    """Last part of the execution's id, for the logs."""
    started_ms: PastMs
    """When the batch began."""
    deadline_ms: PastMs
    """The batch begins no call after it."""
    breaker: _Breaker | None = None
    """Absent where there was no row."""
    breaker_unread: bool | None = None
    """True where the row could not be read."""
    events: list[_Candidate]


class PaceBeginAnswer(_Pacing):
    """For which events a call may be made."""

    allowed: list[str]
    """Message ids."""
    reason: Literal["LIMITED", "BREAKER_OPEN", "RATE_LIMITED"] | None = None
    """Why the others are handed back; absent where all are allowed."""
    calls_allowed: Literal[1, 2]
    """Calls an event may cost: with a limit, and for a probe, one."""
    call_until_ms: PastMs
    """No call begins after it; never later than the batch's own deadline."""
    slot: int | None = None
    """Where the tokens come from; only with a limit."""
    tokens: int | None = Field(None, ge=1)
    """How many calls were granted; only with a limit."""
    probe: PastMs | None = None
    """The `open_until` that this batch wrote: it makes the one call that may close the breaker."""


class _Pace(_Pacing):
    """From the first answer."""

    slot: int | None = None
    tokens: int | None = None
    probe: PastMs | None = None


class _HandedBack(_Pacing):
    """An event whose message stays on the queue."""

    message_id: str
    receipt_handle: str
    copies: list[str] | None = None
    """Receipt handles of the copies that share its verdict."""
    subject_key: str
    """Events of one subject draw the same random number."""
    sent_at_ms: PastMs
    reason: str = Field(examples=["CALL_FAILED"])
    failed_at_ms: PastMs | None = None
    """Absent if it never failed."""
    lease_until_ms: PastMs | None = None
    """Of HELD, and of claims of our own that may still stand; absent of all else."""


class PaceEnd(_Pacing):
    """What the state machine asks after the calls of a batch: only where something is handed back,
    tokens are left, or the breaker must learn something. It is asked once and not again: giving
    tokens back is not idempotent, and without return times the queue's own visibility holds."""

    version: Literal["1"]
    ask: Literal["end"]
    run: str
    """Last part of the execution's id, for the logs."""
    started_ms: PastMs
    breaker: _Breaker | None = None
    """As it was at the batch's start; absent where there was no row."""
    breaker_unread: bool | None = None
    """True where the row could not be read."""
    pace: _Pace | None = None
    """Absent where the batch did not ask at its beginning."""
    calls: int = Field(ge=0)
    """Made in all."""
    answered: bool
    """Whether any call was: the event acted, or was refused for good."""
    failures: list[str] | None = None
    """First 16 digits of the idempotency keys of events that failed for the first time."""
    failed_at_ms: PastMs | None = None
    """When the first failed call began; absent where none failed."""
    retry_after_seconds: float | None = None
    """The largest that a 429 asked for, 30 where it named none; absent without a 429."""
    own_action: bool
    """True with a Lambda of one's own: then this call writes into the breaker's row what our data
    action function writes itself while it calls."""
    events: list[_HandedBack]


class _Return(_Pacing):
    message_id: str
    returns_at_ms: PastMs
    """When its message is seen again."""


class PaceEndAnswer(_Pacing):
    """Which return times were set. The others keep the queue's own visibility."""

    returns: list[_Return]


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
        None, description="No longer written: `retryAfterSeconds` says what a 429 asked for."
    )
