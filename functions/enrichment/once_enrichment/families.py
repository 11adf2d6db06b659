"""Every family that is more than the generic rule: one model each, in this one place.

A docstring says what tells the events apart, and why no change is lost. Genesys' own models of the
bodies were read for it; a field that is not declared here does not enter the key, unless the whole
body does. Where no field is the subject, the first id in the topic's name is.
"""

from once_enrichment.family import (
    AnySlot,
    Content,
    Family,
    Flag,
    HiddenState,
    HiddenSubject,
    Identity,
    Number,
    Part,
    Slot,
    State,
    Subject,
    Time,
)


class Reference(Part):
    """An object that is named by its id."""

    id: Identity


# One step of one session each. `eventTime` is when the step happened, in milliseconds, and no step
# happens twice in a session at that time.


class ConversationEvent(Family):
    subject = "conversation"
    topic_is_state = True
    conversationId: Subject
    participantId: Identity
    sessionId: Identity
    eventTime: Time


class CustomerStart(ConversationEvent):
    """A customer's session starts once; the rest describes the session."""

    topics = ("v2.detail.events.conversation.{id}.customer.start",)


class CustomerEnd(ConversationEvent):
    """A customer's session ends once; the rest describes the session."""

    topics = ("v2.detail.events.conversation.{id}.customer.end",)
    disconnectType: State = None


class UserStart(ConversationEvent):
    """A user's session starts once; the rest describes the session."""

    topics = (
        "v2.detail.events.conversation.{id}.user.start",
        "v2.detail.events.conversation.{id}.voicemail.start",
    )
    userId: State = None
    queueId: State = None


class UserEnd(UserStart):
    """A user's session ends once; durations follow from start and end."""

    topics = (
        "v2.detail.events.conversation.{id}.user.end",
        "v2.detail.events.conversation.{id}.voicemail.end",
    )
    disconnectType: State = None


class AcdStart(ConversationEvent):
    """A conversation enters a queue; the rest is how it is to be routed."""

    topics = ("v2.detail.events.conversation.{id}.acd.start",)
    queueId: State = None


class AcdEnd(AcdStart):
    """A conversation leaves a queue; the rest is how it was routed."""

    topics = ("v2.detail.events.conversation.{id}.acd.end",)
    acdOutcome: State = None
    answeredUserId: State = None
    disconnectType: State = None


class FlowStart(ConversationEvent):
    """A flow starts; its type and version follow from the flow and the time."""

    topics = ("v2.detail.events.conversation.{id}.flow.start",)
    flowId: State = None


class FlowEnd(FlowStart):
    """A flow ends; its duration follows from start and end."""

    topics = ("v2.detail.events.conversation.{id}.flow.end",)
    disconnectType: State = None
    exitReason: State = None
    transferType: State = None


class FlowOutcome(FlowStart):
    """A session has several outcomes, and one outcome may be reached again: its own times count."""

    topics = ("v2.detail.events.conversation.{id}.flow.outcome",)
    flowOutcomeId: State = None
    flowOutcomeValue: HiddenState = None
    flowOutcomeStartTime: Number = None
    flowOutcomeEndTime: Number = None
    flowMilestones: Content = None


class Wrapup(ConversationEvent):
    """Wrap-up work; code and notes may be written again, so they count beside the time."""

    topics = (
        "v2.detail.events.conversation.{id}.acw",
        "v2.detail.events.conversation.{id}.wrapup",
    )
    userId: State = None
    queueId: State = None
    wrapupCode: HiddenState = None
    wrapupNotes: Content = None
    wrapupDurationMs: Content = None


class Contact(ConversationEvent):
    """A session is linked to a contact; the rest describes the session."""

    topics = ("v2.detail.events.conversation.{id}.contact",)
    externalContactId: State = None
    externalOrganizationId: State = None


class Outbound(ConversationEvent):
    """A campaign dials a contact; the rest describes the session."""

    topics = ("v2.detail.events.conversation.{id}.outbound",)
    outboundCampaignId: State = None
    outboundContactListId: State = None
    outboundContactId: HiddenState = None


class Attributes(Family):
    """A participant's attributes are set; they belong to no session."""

    topics = ("v2.detail.events.conversation.{id}.attributes",)
    subject = "conversation"
    topic_is_state = True
    conversationId: Subject
    participantId: Identity
    eventTime: Time
    attributes: Content = None
    communications: Content = None


class AgentState(Family):
    """`currentStateStart` is set anew with each state of a session."""

    topics = ("v2.detail.events.agent.{id}.state",)
    slots = ("userId",)
    shown = "currentState"
    sessionId: Identity
    currentStateStart: Time
    currentState: State = None
    conversationId: State = None
    queueId: State = None


class Definition(Part):
    id: Identity
    systemPresence: State = None


class Presence(Family):
    """`modifiedDate` is set anew with each change. Each source has a presence of its own."""

    topics = ("v2.users.{id}.presence",)
    order = "latest"
    shown = "presenceDefinition.systemPresence"
    source: AnySlot = None
    presenceDefinition: Definition
    modifiedDate: Time
    primary: Flag = None
    message: Content = None
    futurePresenceDefinition: Content = None


class Status(Part):
    status: State = None
    startTime: Time


class RoutingStatus(Family):
    """`startTime` is set anew with each status."""

    topics = ("v2.users.{id}.routingStatus",)
    subject = "user"
    order = "latest"
    shown = "routingStatus.status"
    id: Subject
    routingStatus: Status
    errorInfo: Content = None


class UserState(Family):
    """States of a user that name the user in the topic alone, and tell no time. A station's state
    is in `metadata.action`."""

    topics = ("v2.users.{id}.conversationsummary", "v2.users.{id}.station")
    order = "changes"


class Activity(Family):
    """Four states in one. Each has a clock of its own, and none changes with all four."""

    topics = ("v2.users.{id}.activity",)
    subject = "user"
    order = "changes"
    shown = "routingStatus.status"
    id: Subject


class Person(Part):
    id: Subject


class Adherence(Family):
    """Seven states in one. Three of them have a clock, and none changes with all seven."""

    topics = (
        "v2.users.{id}.workforcemanagement.adherence",
        "v2.workforcemanagement.managementunits.{id}.adherence",
        "v2.workforcemanagement.teams.{id}.adherence",
    )
    subject = "user"
    order = "changes"
    shown = "adherenceState"
    user: Person


_MEDIA = "callbacks calls chats cobrowseSessions emails messages screenshares socialexpressions"


class Snapshot(Family):
    """The state of a whole conversation, sent again whenever anything in it changes. It tells no
    time of its own, and states return: held, muted, recording, attributes. The user or queue whose
    list it is varies independently, and is in the topic."""

    topics = tuple(
        f"v2.{place}.{{id}}.conversations{medium}"
        for place in ("users", "routing.queues")
        for medium in ("", *(f".{name}" for name in [*_MEDIA.split(), "videos"]))
    )
    subject = "conversation"
    order = "changes"
    id: Subject


class Member(Family):
    """A user's membership in a queue, which may be joined and left again."""

    topics = ("v2.routing.queues.{id}.users",)
    order = "changes"
    id: Slot


class TranscriptionStatus(Part):
    status: State = None
    offsetMs: Number = None


class Transcription(Family):
    """Utterances, or that a session started or ended. `eventTime` is when that was published; the
    rest describes the session and the engine."""

    topics = ("v2.conversations.{id}.transcription",)
    subject = "conversation"
    shown = "status.status"
    conversationId: Subject
    communicationId: Identity
    eventTime: Time
    status: TranscriptionStatus | None = None
    transcripts: Content = None


class Entity(Part):
    id: Subject


class Audit(Family):
    """A change that was made; each has an id of its own, and is never published otherwise."""

    topics = ("v2.audits.entitytype.{id}.entityid.{id}",)
    subject = "entity"
    slots = ("entityType", "entityId")
    shown = "action"
    entity: Entity
    id: Identity
    eventTime: Time
    action: State = None
    userId: State = None


class Metric(Family):
    """A measured value; each record has an id of its own."""

    topics = ("v2.analytics.conversation.{id}.metrics", "v2.analytics.flow.{id}.metrics")
    subject = "conversation"
    shown = "metric"
    whole = True
    conversationId: Subject
    recordId: Identity
    metricDate: Time
    metric: State = None


class Measure(Part):
    metric: AnySlot = None
    qualifier: AnySlot = None


class Interval(Part):
    interval: AnySlot = None
    metrics: list[Measure] | None = None


class Counters(Family):
    """Numbers that overwrite one another, and may return. A message may hold some of the metrics,
    so each group, interval and selection varies independently. Two selections may share a metric:
    the same numbers again are a change, if the other selection changed them in between."""

    topics = (
        "v2.analytics.users.{id}.aggregates",
        "v2.analytics.queues.{id}.observations",
        "v2.analytics.flow.{id}.aggregates",
        "v2.analytics.flowoutcome.{id}.aggregates",
        "v2.analytics.wrapup.{id}.aggregates",
        "v2.outbound.campaigns.{id}.stats",
    )
    order = "latest"
    whole = True
    group: AnySlot = None
    data: list[Interval] | None = None


class ActivityOfMedium(Part):
    mediaType: AnySlot = None


class QueueActivity(Family):
    """Numbers that overwrite one another, and may return. Each selection of media varies
    independently, and two of them may share a medium, as with other counters."""

    topics = ("v2.analytics.queues.{id}.activity",)
    order = "latest"
    whole = True
    results: list[ActivityOfMedium] | None = None


class Operation(Family):
    """A value of an entity changed; the kind of change is in the topic."""

    topics = ("v2.operations.events.{id}",)
    subject = "entity"
    shown = "currentValue"
    whole = True
    entityId: Subject
    timestamp: Time


class Evaluation(Family):
    """`eventTime` is set anew with each event about an evaluation."""

    topics = ("v2.quality.evaluations",)
    subject = "evaluation"
    shown = "status"
    whole = True
    id: Subject
    eventTime: Time
    status: State = None
    eventType: State = None


class Workitem(Family):
    """`dateModified` is set anew with each change. It is published once for itself and once to each
    queue and user, whose id is in the topic."""

    topics = (
        "v2.taskmanagement.workitems.{id}",
        "v2.taskmanagement.workitems.queues.{id}",
        "v2.taskmanagement.workitems.users.{id}",
    )
    subject = "workitem"
    shown = "operation"
    whole = True
    id: Subject
    dateModified: Time
    operation: State = None
    assignmentState: State = None


class CampaignContact(Family):
    """A campaign is about to contact somebody, or has; the time is in milliseconds."""

    topics = tuple(
        f"v2.outbound.{medium}.campaigns.contact.{moment}Contact"
        for medium in ("email", "messaging", "preview", "voice", "whatsapp")
        for moment in ("pre", "post")
    )
    subject = "contact"
    whole = True
    outboundContactId: HiddenSubject
    outboundCampaignId: Identity
    eventTime: Time


class Recording(Family):
    """The state of a recording's file, which may be archived and restored again; no time."""

    topics = (
        "v2.users.{id}.conversations.{id}.recordings",
        "v2.users.{id}.conversations.{id}.recordings.{id}",
        "v2.users.{id}.recordings",
    )
    subject = "conversation"
    order = "changes"
    shown = "fileState"
    conversationId: Subject
    id: Slot


class Voicemail(Family):
    """`modifiedDate` is set anew with each change."""

    topics = ("v2.users.{id}.voicemail.messages",)
    shown = "action"
    whole = True
    id: Identity
    modifiedDate: Time
    action: State = None


class ChatMember(Family):
    """A guest's or agent's membership in a chat; `timestamp` is that of its change."""

    topics = ("v2.conversations.chats.{id}.members",)
    slots = ("conversationId",)
    shown = "member.state"
    whole = True
    member: Reference
    timestamp: Time


class ChatMessage(Family):
    """A message, written once at its `timestamp`; `id` is the message, not the conversation."""

    topics = ("v2.conversations.chats.{id}.messages",)
    slots = ("conversationId",)
    shown = "bodyType"
    whole = True
    id: Identity
    timestamp: Time


class CollaborateMessage(Family):
    """A message was created, edited or deleted; `created` is the same in all three, so it is no
    time of the event. An edit never makes the creation stale: each action varies independently."""

    topics = (
        "v2.detail.events.collaboratechat.adhoc.{id}.messages",
        "v2.detail.events.collaboratechat.group.{id}.messages",
    )
    slots = ("chatId",)
    order = "changes"
    shown = "actionType"
    messageId: Slot
    actionType: AnySlot = None


class Summary(Family):
    """A summary of a conversation, which may be edited: `createdDate` and `summaryId` stay the same
    then, so neither is a time."""

    topics = (
        "v2.bot.conversation.{id}.conversations.summaries",
        "v2.users.{id}.conversations.summaries",
    )
    subject = "conversation"
    order = "changes"
    conversationId: Subject
    summaryId: Slot


class JourneyEvent(Family):
    """A step of a customer's journey with an id of its own; `createdDate` is that of the step, not
    of the session or segment that it is about."""

    topics = (
        "v2.externalcontacts.contacts.{id}.journey.segments",
        *(
            f"v2.journey.sessions.{{id}}.{kind}.events"
            for kind in ("web", "app", "action", "outcome")
        ),
    )
    shown = "eventType"
    whole = True
    id: Identity
    createdDate: Time


def _families(base: type[Family]) -> list[type[Family]]:
    found = [base] if "topics" in vars(base) else []
    return found + [one for below in base.__subclasses__() for one in _families(below)]


FAMILIES = tuple(_families(Family))
BY_TOPIC = {topic: family for family in FAMILIES for topic in family.topics}
