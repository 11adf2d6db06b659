"""What the families rely on in an event's body, as Genesys spells it. All else passes unread.

Each field may be missing: a family that misses a part of its identity falls back, and says so.
These are plain TypedDicts: pydantic reads them, but a cold start need not load it (reader.py).
"""

from typing import Annotated, Any

from typing_extensions import TypedDict

from enrichment.field_types import After, Id, When, WhenMs, Word, digest_of_parts


class Named(TypedDict, total=False):
    """What Genesys calls a reference: an object that is known by its id."""

    id: Id


class ConversationEvent(TypedDict, total=False):
    """`v2.detail.events.conversation.{id}.*` but for attributes: one step of one session."""

    conversationId: Id
    participantId: Id
    sessionId: Id
    eventTime: WhenMs


class StartOrEnd(ConversationEvent, total=False):
    userId: Word
    queueId: Word
    flowId: Word
    disconnectType: Word


class AcdEnd(ConversationEvent, total=False):
    queueId: Word
    acdOutcome: Word
    answeredUserId: Word
    disconnectType: Word


class FlowEnd(ConversationEvent, total=False):
    flowId: Word
    disconnectType: Word
    exitReason: Word
    transferType: Word


class FlowOutcome(ConversationEvent, total=False):
    flowId: Word
    flowOutcomeId: Word
    flowOutcomeValue: Word
    flowOutcomeStartTime: Word
    flowOutcomeEndTime: Word


class Wrapup(ConversationEvent, total=False):
    userId: Word
    queueId: Word
    wrapupCode: Word


class Contact(ConversationEvent, total=False):
    externalContactId: Word
    externalOrganizationId: Word


class Outbound(ConversationEvent, total=False):
    outboundCampaignId: Word
    outboundContactListId: Word
    outboundContactId: Word


class Attributes(TypedDict, total=False):
    """`….attributes`: belongs to a participant, not to one of its sessions."""

    conversationId: Id
    participantId: Id
    eventTime: WhenMs
    attributes: Any
    communications: Any


class AgentState(TypedDict, total=False):
    """`v2.detail.events.agent.{id}.state`"""

    userId: Id
    sessionId: Id
    conversationId: Word
    queueId: Word
    currentState: Id
    currentStateStart: WhenMs


class PresenceDefinition(TypedDict, total=False):
    id: Id
    systemPresence: Word


class Presence(TypedDict, total=False):
    """`v2.users.{id}.presence`"""

    userId: Id
    source: Id
    presenceDefinition: PresenceDefinition
    primary: bool
    message: Any
    futurePresenceDefinition: Any
    modifiedDate: When


class Status(TypedDict, total=False):
    status: Id
    startTime: When


class RoutingStatus(TypedDict, total=False):
    """`v2.users.{id}.routingStatus`"""

    id: Id
    routingStatus: Status
    errorInfo: Any


class ActivityPresence(TypedDict, total=False):
    presenceDefinition: PresenceDefinition
    presenceMessage: Word
    modifiedDate: When


class OutOfOffice(TypedDict, total=False):
    active: bool
    modifiedDate: When


class Activity(TypedDict, total=False):
    """`v2.users.{id}.activity`: four states in one, each with its own time."""

    id: Id
    routingStatus: Status
    presence: ActivityPresence
    outOfOffice: OutOfOffice
    dateActiveQueuesChanged: When


class OfUser(TypedDict, total=False):
    """Topics that name the user in the topic and rely on nothing else."""

    userId: Id


class Member(TypedDict, total=False):
    """`v2.routing.queues.{id}.users`"""

    queueId: Id
    id: Id
    user: Named
    joined: bool


class _Utterance(TypedDict, total=False):
    utteranceId: Any
    isFinal: Any


class TranscriptionStatus(TypedDict, total=False):
    status: Word
    offsetMs: Word


class Transcription(TypedDict, total=False):
    """`v2.conversations.{id}.transcription`: utterances, or that the session started or ended."""

    conversationId: Id
    communicationId: Id
    eventTime: When
    status: TranscriptionStatus
    transcripts: Annotated[list[_Utterance], After(digest_of_parts)]


class Audit(TypedDict, total=False):
    """`v2.audits.entitytype.{id}.entityid.{id}`"""

    id: Id
    entity: Named
    entityType: Word
    userId: Word
    action: Word
    eventTime: When


class Metric(TypedDict, total=False):
    """`v2.analytics.conversation.{id}.metrics` and those of flows."""

    conversationId: Id
    recordId: Id
    metric: Word
    value: Word
    metricDate: When


class _Interval(TypedDict, total=False):
    interval: Any


class Counters(TypedDict, total=False):
    """`v2.analytics.*` aggregates and observations: numbers that overwrite one another."""

    userId: Id
    queueId: Id
    flowId: Id
    flowoutcomeId: Id
    wrapupId: Id
    campaignId: Id
    group: Any
    data: list[_Interval]


class Operation(TypedDict, total=False):
    """`v2.operations.events.{id}`"""

    eventId: Id
    entityId: Id
    currentValue: Word
    timestamp: WhenMs


class Evaluation(TypedDict, total=False):
    """`v2.quality.evaluations`"""

    id: Id
    eventType: Word
    status: Word
    eventTime: When
    changedDate: When


class Workitem(TypedDict, total=False):
    """`v2.taskmanagement.workitems.*`"""

    id: Id
    operation: Word
    assignmentState: Word
    dateModified: When


class CampaignContact(TypedDict, total=False):
    """`v2.outbound.*.campaigns.contact.preContact` and `postContact`"""

    outboundContactId: Id
    outboundCampaignId: Id
    wrapupCode: Word
    eventTime: WhenMs


class Recording(TypedDict, total=False):
    """`v2.users.{id}.conversations.{id}.recordings`"""

    id: Id
    conversationId: Id
    fileState: Word


class Voicemail(TypedDict, total=False):
    """`v2.users.{id}.voicemail.messages`"""

    id: Id
    userId: Id
    action: Word
    read: bool
    deleted: bool
    modifiedDate: When


class MemberState(TypedDict, total=False):
    id: Id
    state: Word


class ChatMember(TypedDict, total=False):
    """`v2.conversations.chats.{id}.members`"""

    conversationId: Id
    member: MemberState
    timestamp: When


class ChatMessage(TypedDict, total=False):
    """`v2.conversations.chats.{id}.messages`: `id` is the message, not the conversation."""

    id: Id
    conversationId: Id
    bodyType: Word
    timestamp: When


class CollaborateMessage(TypedDict, total=False):
    """`v2.detail.events.collaboratechat.*.{id}.messages`"""

    chatId: Id
    messageId: Id
    actionType: Word
    created: When


class JourneyEvent(TypedDict, total=False):
    """`v2.journey.sessions.{id}.*.events`"""

    sessionId: Id
    id: Id
    eventType: Word
    createdDate: When


class Summary(TypedDict, total=False):
    """`….conversations.summaries`: written once, under an id of its own."""

    conversationId: Id
    summaryId: Id
    createdDate: When


class Adherence(TypedDict, total=False):
    """`….adherence`: several states in one, each with a time."""

    user: Named
    routingStatus: Word
    systemPresence: Word
    adherenceState: Word
    adherenceChangeTime: When
    presenceUpdateTime: When
    activeQueuesModifiedTime: When


class Segment(TypedDict, total=False):
    """`v2.externalcontacts.contacts.{id}.journey.segments`"""

    contactId: Id
    id: Id
    createdDate: When
