"""What the families rely on in an event's body. Every other field passes unread.

Each field may be missing: a family that misses a part of its identity falls back, and says so.
"""

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StringConstraints,
)
from pydantic.alias_generators import to_camel
from pydantic_core import to_json
from typing_extensions import TypedDict

from enrichment.keys import without_nulls
from enrichment.times import LAST_MS, to_ms

Id = Annotated[str, StringConstraints(min_length=1)]
Word = str | bool | int | float
When = Annotated[int, PlainValidator(to_ms, json_schema_input_type=int | float | str)]
# Any spelling as well, but where milliseconds are the rule they never leave compiled code.
WhenMs = Annotated[
    Annotated[int, Field(strict=True, ge=100_000_000_000, le=LAST_MS)] | When,
    Field(union_mode="left_to_right"),
]


class Body(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, extra="ignore", coerce_numbers_to_str=True, defer_build=True
    )


class Named(Body):
    """What Genesys calls a reference: an object that is known by its id."""

    id: Id | None = None


class ConversationEvent(Body):
    """`v2.detail.events.conversation.{id}.*` but for attributes: one step of one session."""

    conversation_id: Id | None = None
    participant_id: Id | None = None
    session_id: Id | None = None
    event_time: WhenMs | None = None


class StartOrEnd(ConversationEvent):
    user_id: Word | None = None
    queue_id: Word | None = None
    flow_id: Word | None = None
    disconnect_type: Word | None = None


class AcdEnd(ConversationEvent):
    queue_id: Word | None = None
    acd_outcome: Word | None = None
    answered_user_id: Word | None = None
    disconnect_type: Word | None = None


class FlowEnd(ConversationEvent):
    flow_id: Word | None = None
    disconnect_type: Word | None = None
    exit_reason: Word | None = None
    transfer_type: Word | None = None


class FlowOutcome(ConversationEvent):
    flow_id: Word | None = None
    flow_outcome_id: Word | None = None
    flow_outcome_value: Word | None = None
    flow_outcome_start_time: Word | None = None
    flow_outcome_end_time: Word | None = None


class Wrapup(ConversationEvent):
    user_id: Word | None = None
    queue_id: Word | None = None
    wrapup_code: Word | None = None


class Contact(ConversationEvent):
    external_contact_id: Word | None = None
    external_organization_id: Word | None = None


class Outbound(ConversationEvent):
    outbound_campaign_id: Word | None = None
    outbound_contact_list_id: Word | None = None
    outbound_contact_id: Word | None = None


class Attributes(Body):
    """`….attributes`: belongs to a participant, not to one of its sessions."""

    conversation_id: Id | None = None
    participant_id: Id | None = None
    event_time: WhenMs | None = None
    attributes: Any = None
    communications: Any = None


class AgentState(Body):
    """`v2.detail.events.agent.{id}.state`"""

    user_id: Id | None = None
    session_id: Id | None = None
    conversation_id: Word | None = None
    queue_id: Word | None = None
    current_state: Id | None = None
    current_state_start: WhenMs | None = None


class PresenceDefinition(Body):
    id: Id | None = None
    system_presence: Word | None = None


class Presence(Body):
    """`v2.users.{id}.presence`"""

    user_id: Id | None = None
    source: Id | None = None
    presence_definition: PresenceDefinition | None = None
    primary: bool | None = None
    message: Any = None
    future_presence_definition: Any = None
    modified_date: When | None = None


class Status(Body):
    status: Id | None = None
    start_time: When | None = None


class RoutingStatus(Body):
    """`v2.users.{id}.routingStatus`"""

    id: Id | None = None
    routing_status: Status | None = None
    error_info: Any = None


class ActivityPresence(Body):
    presence_definition: PresenceDefinition | None = None
    presence_message: Word | None = None
    modified_date: When | None = None


class OutOfOffice(Body):
    active: bool | None = None
    modified_date: When | None = None


class Activity(Body):
    """`v2.users.{id}.activity`: four states in one, each with its own time."""

    id: Id | None = None
    routing_status: Status | None = None
    presence: ActivityPresence | None = None
    out_of_office: OutOfOffice | None = None
    date_active_queues_changed: When | None = None


class OfUser(Body):
    """Topics that name the user in the topic and rely on nothing else."""

    user_id: Id | None = None


class Member(Body):
    """`v2.routing.queues.{id}.users`"""

    queue_id: Id | None = None
    member_id: Id | None = Field(None, validation_alias=AliasChoices(AliasPath("user", "id"), "id"))
    id: Word | None = None
    joined: bool | None = None


def told(parts: list[Any]) -> str:
    """The parts as JSON. They are validated, so their fields are in the order of declaration."""
    text = to_json(parts)
    return (to_json(without_nulls(parts)) if b":null" in text else text).decode()


class _Utterance(TypedDict, total=False):
    utteranceId: Any
    isFinal: Any


class TranscriptionStatus(Body):
    status: Word | None = None
    offset_ms: Word | None = None


class Transcription(Body):
    """`v2.conversations.{id}.transcription`: utterances, or that the session started or ended."""

    conversation_id: Id | None = None
    communication_id: Id | None = None
    event_time: When | None = None
    status: TranscriptionStatus | None = None
    transcripts: Annotated[list[_Utterance], AfterValidator(told)] | None = None


class Audit(Body):
    """`v2.audits.entitytype.{id}.entityid.{id}`"""

    id: Id | None = None
    entity_id: Id | None = Field(
        None, validation_alias=AliasChoices(AliasPath("entity", "id"), "entityId")
    )
    entity_type: Word | None = None
    user_id: Word | None = None
    action: Word | None = None
    event_time: When | None = None


class Metric(Body):
    """`v2.analytics.conversation.{id}.metrics` and those of flows."""

    conversation_id: Id | None = None
    record_id: Id | None = None
    metric: Word | None = None
    value: Word | None = None
    metric_date: When | None = None


class _Interval(TypedDict, total=False):
    interval: Any


class Counters(Body):
    """`v2.analytics.*` aggregates and observations: numbers that overwrite one another."""

    user_id: Id | None = None
    queue_id: Id | None = None
    flow_id: Id | None = None
    flowoutcome_id: Id | None = None
    wrapup_id: Id | None = None
    campaign_id: Id | None = None
    group: dict[str, Any] | None = None
    data: list[_Interval] | None = None


class Operation(Body):
    """`v2.operations.events.{id}`"""

    event_id: Id | None = None
    entity_id: Id | None = None
    current_value: Word | None = None
    timestamp: WhenMs | None = None


class Evaluation(Body):
    """`v2.quality.evaluations`"""

    id: Id | None = None
    event_type: Word | None = None
    status: Word | None = None
    event_time: When | None = Field(None, validation_alias=AliasChoices("eventTime", "changedDate"))


class Workitem(Body):
    """`v2.taskmanagement.workitems.*`"""

    id: Id | None = None
    operation: Word | None = None
    assignment_state: Word | None = None
    date_modified: When | None = None


class CampaignContact(Body):
    """`v2.outbound.*.campaigns.contact.preContact` and `postContact`"""

    outbound_contact_id: Id | None = None
    outbound_campaign_id: Id | None = None
    wrapup_code: Word | None = None
    event_time: WhenMs | None = None


class Recording(Body):
    """`v2.users.{id}.conversations.{id}.recordings`"""

    id: Id | None = None
    conversation_id: Id | None = None
    file_state: Word | None = None


class Voicemail(Body):
    """`v2.users.{id}.voicemail.messages`"""

    id: Id | None = None
    user_id: Id | None = None
    action: Word | None = None
    read: bool | None = None
    deleted: bool | None = None
    modified_date: When | None = None


class MemberState(Body):
    id: Id | None = None
    state: Word | None = None


class ChatMember(Body):
    """`v2.conversations.chats.{id}.members`"""

    conversation_id: Id | None = None
    member: MemberState | None = None
    timestamp: When | None = None


class ChatMessage(Body):
    """`v2.conversations.chats.{id}.messages`: `id` is the message, not the conversation."""

    id: Id | None = None
    conversation_id: Id | None = None
    body_type: Word | None = None
    timestamp: When | None = None


class CollaborateMessage(Body):
    """`v2.detail.events.collaboratechat.*.{id}.messages`"""

    chat_id: Id | None = None
    message_id: Id | None = None
    action_type: Word | None = None
    created: When | None = None


class JourneyEvent(Body):
    """`v2.journey.sessions.{id}.*.events`"""

    session_id: Id | None = None
    id: Id | None = None
    event_type: Word | None = None
    created_date: When | None = None


class Summary(Body):
    """`….conversations.summaries`: written once, under an id of its own."""

    conversation_id: Id | None = None
    summary_id: Id | None = None
    created_date: When | None = None


class Adherence(Body):
    """`….adherence`: several states in one, each with a time."""

    user: Named | None = None
    routing_status: Word | None = None
    system_presence: Word | None = None
    adherence_state: Word | None = None
    adherence_change_time: When | None = None
    presence_update_time: When | None = None
    active_queues_modified_time: When | None = None


class Segment(Body):
    """`v2.externalcontacts.contacts.{id}.journey.segments`"""

    contact_id: Id | None = None
    id: Id | None = None
    created_date: When | None = None
