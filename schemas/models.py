"""The contracts that no code of ours reads as a whole: what the state machine writes or sends.

The others are models of the packages that use them; contracts.py lists all.
"""

from typing import Literal

from once_data_action.request import WebhookRequest
from once_enrichment.elements import ActionEvent
from pydantic import BaseModel, ConfigDict, Field, with_config
from pydantic.alias_generators import to_camel

from once.operate.claims import ClaimOwner, ExpiresAt, PastMs
from once.records import LoggedRecord

# A dataclass of a function that has no pydantic: its fields say what they are all the same.
with_config(use_attribute_docstrings=True)(WebhookRequest)


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class SlotRow(_Row):
    """The requests taken from one slot of time; only with MaxActionsPerMinute."""

    pk: Literal["pace"]
    """Shared by all events."""
    sk: str = Field(pattern="^slot/[0-9]+$", examples=["slot/888944400"])
    """Number of the slot since 1970."""
    used: int
    """Requests taken from it, without those given back."""
    expires_at: ExpiresAt


class BreakerRow(_Row):
    """The circuit breaker. The row does not exist while requests succeed."""

    pk: Literal["pace"]
    """Shared by all events."""
    sk: Literal["breaker"]
    """There is one such row."""
    since: PastMs | None = None
    """Begin of the first failed request or of the pause, epoch milliseconds."""
    failed: set[str] | None = Field(None, examples=[["0a1b2c3d4e5f6071"]])
    """First 16 digits of the idempotency keys of events that failed for the first time. With 20 of
    them, 9 seconds after `since`, the breaker opens."""
    open_until: PastMs | None = None
    """No request before then, epoch milliseconds; then one batch probes. Absent: it only counts."""
    not_before: PastMs | None = None
    """No request before then, epoch milliseconds, because of a 429 or a pause."""
    held: str | None = None
    """Why an operator paused requests until `not_before`; only by `once pause`."""
    held_by: str | None = None
    """The operator who paused them."""
    held_at: PastMs | None = None
    """Begin of the pause, epoch milliseconds."""
    expires_at: ExpiresAt


class _Camel(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, extra="forbid", use_attribute_docstrings=True
    )


class Pace(_Camel):
    """The breaker's row as the batch read it."""

    read_ms: PastMs | None = None
    """Time of the read, epoch milliseconds; absent if the row could not be read."""
    since: PastMs | None = None
    """Begin of the first request that failed or was limited; absent if there was no row."""
    probe: PastMs | None = None
    """End of the time in which this batch probes with one request, epoch milliseconds."""


class ActionRequest(_Camel):
    """The request of the state machine to the data action, ours or your own Lambda."""

    version: Literal["2"]
    """Version of this contract."""
    event: ActionEvent
    """The element, whole, as the enrichment made it."""
    idempotency_key: str = Field(pattern=r"^[0-9a-f]{64}(\.[0-9]{1,16})?$")
    """The same on every attempt. If a state can return, the occurrence follows the full stop."""
    deadline_ms: PastMs
    """Epoch milliseconds. Begin no request after it: raise `TooLate`; if `retry` is 1, `Failed`."""
    requests_allowed: Literal[1, 2]
    """Requests that this execution may send. Raise `Transient` only if one is left."""
    retry: Literal[0, 1]
    """Requests that it has sent before this invocation."""
    execution: ClaimOwner
    """The claim's owner, for your own logs."""
    pace: Pace = Pace()
    """State of the breaker when the batch began; for our own function."""
    failed_before: bool = False
    """True if a request for this event failed before; for our own function."""


class BusEvent(BaseModel):
    """An event on the bus of TargetBusArn, as its rules match and deliver it."""

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


class _Breaker(_Camel):
    """The breaker's row as the batch read it at its start."""

    since: PastMs | None = None
    """Begin of the first failed request."""
    failed: int | None = Field(None, ge=0)
    """The number of keys in its set."""
    open_until: PastMs | None = None
    """Absent while it only counts."""
    not_before: PastMs | None = None
    """End of the wait for a 429, or of a pause."""
    held: str | None = None
    """The reason of a pause."""


class _Candidate(_Camel):
    """An event for which a request would be sent, or a copy of one in its batch."""

    message_id: str
    copy_of: str | None = None
    """The kept message of a collapsed copy, which shares its verdict."""
    occurred_at_ms: int
    receives: int = Field(ge=1)
    """The event with the fewest probes."""
    sent_at_ms: PastMs
    """After ten days the event passes in any case: it is parked, and no request is sent."""


class PaceBegin(_Camel):
    """The state machine's question to the pacing function before the requests of a batch: only with
    a limit, or while the breaker has a row."""

    version: Literal["1"]
    ask: Literal["begin"]
    run: str
    """Last part of the execution's id, for the logs."""
    started_ms: PastMs
    """Begin of the batch."""
    deadline_ms: PastMs
    """The batch sends no request after it."""
    breaker: _Breaker | None = None
    """Absent if there was no row."""
    breaker_unread: bool | None = None
    """True if the row could not be read."""
    events: list[_Candidate]


class ReturnedMessage(_Camel):
    """A message that is returned to the queue for now."""

    message_id: str
    reason: Literal["LIMITED", "BREAKER_OPEN", "RATE_LIMITED"]


class PaceBeginAnswer(_Camel):
    """The events for which no request may be sent now, and the requests allowed for the others."""

    returned: list[ReturnedMessage] | None = None
    """Copies are included. All others may go on."""
    requests_allowed: Literal[1, 2]
    """Requests for one event: one with a limit, and for a probe."""
    request_until_ms: PastMs
    """End of the time for requests; never later than the batch's own deadline."""
    slot: int | None = None
    """The slot of the tokens; only with a limit."""
    tokens: int | None = Field(None, ge=1)
    """The number of granted requests; only with a limit."""
    probe: PastMs | None = None
    """The `open_until` that this batch wrote: its one request may close the breaker."""


class _Message(_Camel):
    message_id: str
    copy_of: str | None = None
    receipt_handle: str
    subject_key: str
    """Events of one subject draw the same random number."""
    sent_at_ms: PastMs
    idempotency_key: str | None = None


class PaceEnd(_Camel):
    """The state machine's question after the requests of a batch: only if a message is returned,
    tokens are left, or the breaker must learn something. It is not repeated: giving tokens back is
    not idempotent, and without return times the queue's visibility timeout holds."""

    version: Literal["1"]
    ask: Literal["end"]
    run: str
    """Last part of the execution's id, for the logs."""
    started_ms: PastMs
    lease_until_ms: PastMs
    """End of the leases of this batch."""
    own_action: bool
    """True with a Lambda of your own: then pacing writes into the breaker's row what our data
    action function writes itself after each request."""
    breaker: _Breaker | None = None
    """The row at the batch's start; absent if there was no row."""
    pace: PaceBeginAnswer
    """Without slot, tokens and probe if the batch did not ask at its beginning."""
    records: list[LoggedRecord]
    """The outcome records, without return times."""
    batch: list[_Message]


class _Return(_Camel):
    message_id: str
    returns_at_ms: PastMs
    """Time of the next attempt."""


class PaceEndAnswer(_Camel):
    """The return times that were set. The others keep the queue's visibility timeout."""

    returns: list[_Return]
