"""Every family that is more than the generic rule: one declaration each, in this one place."""

from dataclasses import dataclass

from enrichment import bodies
from enrichment.snapshots import Snapshot


@dataclass(frozen=True, kw_only=True)
class Family:
    """How the events of some topics are told apart. All names are fields of `body`,
    dotted where they lie deeper.

    The key is made of the subject, then `identity` and `time` (each must be there), then `state`
    and `content` (each as far as it is there). Its name follows from the topic.
    """

    topics: tuple[str, ...]
    body: type
    subject: tuple[str, str]  # type, and the field that holds the id
    identity: tuple[str, ...] = ()
    time: str = ""  # when it happened; a family without one is windowed
    times: tuple[str, ...] = ()  # instead of one time, the latest of those that are there
    timed: str = ""  # instead of a time, the content that may hold some
    state: tuple[str, ...] = ()  # the first is shown as the event's state
    content: tuple[str, ...] = ()  # state too long to be read in a key: hashed
    whole: bool = False  # the whole body is content
    word: str = ""  # the state to show, where the topic alone tells it
    slots: tuple[str, ...] = ()  # names of the ids that only the topic's name holds
    latest: bool = False  # an event older than the latest that was settled is stale
    latest_by: tuple[str, ...] = ()  # what tells apart more than one latest of a subject


def _conversation(suffix: str, body: type, *state: str) -> Family:
    return Family(
        topics=(f"v2.detail.events.conversation.{{id}}.{suffix}",),
        body=body,
        subject=("conversation", "conversationId"),
        identity=("participantId", "sessionId"),
        time="eventTime",
        state=state,
        word=suffix,
    )


def _snapshots(place: str, slot: str, field: str) -> Family:
    media = "callbacks calls chats cobrowseSessions emails messages screenshares socialexpressions"
    stem = f"v2.{place}.{{id}}.conversations"
    return Family(
        topics=(stem, *(f"{stem}.{medium}" for medium in [*media.split(), "videos"])),
        body=Snapshot,
        slots=(slot,),
        subject=("conversation", "id"),
        identity=(field,),
        timed="participants",
        content=("participants", "recordingState", "securePause"),
        latest=True,
        latest_by=(field,),
    )


def _counters(kind: str, *topics: str) -> Family:
    return Family(
        topics=topics,
        body=bodies.Counters,
        slots=(f"{kind}Id",),
        subject=(kind, f"{kind}Id"),
        whole=True,
        latest=True,
        latest_by=("group", "data"),
    )


FAMILIES = (
    _conversation("customer.start", bodies.ConversationEvent),
    _conversation("customer.end", bodies.StartOrEnd, "disconnectType"),
    _conversation("user.start", bodies.StartOrEnd, "userId", "queueId"),
    _conversation("user.end", bodies.StartOrEnd, "userId", "queueId", "disconnectType"),
    _conversation("acd.start", bodies.StartOrEnd, "queueId"),
    _conversation(
        "acd.end", bodies.AcdEnd, "queueId", "acdOutcome", "answeredUserId", "disconnectType"
    ),
    _conversation("flow.start", bodies.StartOrEnd, "flowId"),
    _conversation(
        "flow.end", bodies.FlowEnd, "flowId", "disconnectType", "exitReason", "transferType"
    ),
    _conversation(
        "flow.outcome",
        bodies.FlowOutcome,
        "flowId",
        "flowOutcomeId",
        "flowOutcomeValue",
        "flowOutcomeStartTime",
        "flowOutcomeEndTime",
    ),
    _conversation("acw", bodies.Wrapup, "userId", "queueId", "wrapupCode"),
    _conversation("wrapup", bodies.Wrapup, "userId", "queueId", "wrapupCode"),
    _conversation("voicemail.start", bodies.StartOrEnd, "userId", "queueId"),
    _conversation("voicemail.end", bodies.StartOrEnd, "userId", "queueId", "disconnectType"),
    _conversation("contact", bodies.Contact, "externalContactId", "externalOrganizationId"),
    _conversation(
        "outbound",
        bodies.Outbound,
        "outboundCampaignId",
        "outboundContactListId",
        "outboundContactId",
    ),
    Family(
        topics=("v2.detail.events.conversation.{id}.attributes",),
        body=bodies.Attributes,
        subject=("conversation", "conversationId"),
        identity=("participantId",),
        time="eventTime",
        content=("attributes", "communications"),
        word="attributes",
    ),
    Family(
        topics=("v2.detail.events.agent.{id}.state",),
        body=bodies.AgentState,
        subject=("user", "userId"),
        slots=("userId",),
        identity=("sessionId",),
        time="currentStateStart",
        state=("currentState", "conversationId", "queueId"),
    ),
    Family(
        topics=("v2.users.{id}.presence",),
        body=bodies.Presence,
        slots=("userId",),
        subject=("user", "userId"),
        identity=("presenceDefinition.id",),
        time="modifiedDate",
        state=("presenceDefinition.systemPresence", "source", "primary"),
        content=("message", "futurePresenceDefinition"),
        latest=True,
        latest_by=("source",),
    ),
    Family(
        topics=("v2.users.{id}.routingStatus",),
        body=bodies.RoutingStatus,
        subject=("user", "id"),
        time="routingStatus.startTime",
        state=("routingStatus.status",),
        content=("errorInfo",),
        latest=True,
    ),
    Family(
        topics=("v2.users.{id}.activity",),
        body=bodies.Activity,
        subject=("user", "id"),
        times=(
            "routingStatus.startTime",
            "presence.modifiedDate",
            "outOfOffice.modifiedDate",
            "dateActiveQueuesChanged",
        ),
        state=("routingStatus.status", "presence.presenceDefinition.systemPresence"),
        whole=True,
        latest=True,
    ),
    Family(
        topics=("v2.users.{id}.conversationsummary", "v2.users.{id}.station"),
        body=bodies.OfUser,
        slots=("userId",),
        subject=("user", "userId"),
        whole=True,
        latest=True,
    ),
    _snapshots("users", "userId", "userId"),
    _snapshots("routing.queues", "queueId", "queueId"),
    Family(
        topics=("v2.routing.queues.{id}.users",),
        body=bodies.Member,
        slots=("queueId",),
        subject=("queue", "queueId"),
        identity=("id",),
        state=("joined", "user.id"),
        latest=True,
        latest_by=("id",),
    ),
    Family(
        topics=("v2.conversations.{id}.transcription",),
        body=bodies.Transcription,
        subject=("conversation", "conversationId"),
        identity=("communicationId",),
        time="eventTime",
        state=("status.status", "status.offsetMs"),
        content=("transcripts",),
    ),
    Family(
        topics=("v2.audits.entitytype.{id}.entityid.{id}",),
        body=bodies.Audit,
        slots=("entityType", "entityId"),
        subject=("entity", "entity.id"),
        identity=("id",),
        time="eventTime",
        state=("action", "entityType", "userId"),
    ),
    Family(
        topics=("v2.analytics.conversation.{id}.metrics", "v2.analytics.flow.{id}.metrics"),
        body=bodies.Metric,
        subject=("conversation", "conversationId"),
        identity=("recordId",),
        time="metricDate",
        state=("metric", "value"),
        whole=True,
    ),
    _counters("user", "v2.analytics.users.{id}.aggregates"),
    _counters(
        "queue", "v2.analytics.queues.{id}.observations", "v2.analytics.queues.{id}.activity"
    ),
    _counters("flow", "v2.analytics.flow.{id}.aggregates"),
    _counters("flowoutcome", "v2.analytics.flowoutcome.{id}.aggregates"),
    _counters("wrapup", "v2.analytics.wrapup.{id}.aggregates"),
    _counters("campaign", "v2.outbound.campaigns.{id}.stats"),
    Family(
        topics=("v2.operations.events.{id}",),
        body=bodies.Operation,
        slots=("eventId",),
        subject=("entity", "entityId"),
        identity=("eventId",),
        time="timestamp",
        state=("currentValue",),
        whole=True,
    ),
    Family(
        topics=("v2.quality.evaluations",),
        body=bodies.Evaluation,
        subject=("evaluation", "id"),
        times=("eventTime", "changedDate"),
        state=("status", "eventType"),
        whole=True,
    ),
    Family(
        topics=(
            "v2.taskmanagement.workitems.{id}",
            "v2.taskmanagement.workitems.queues.{id}",
            "v2.taskmanagement.workitems.users.{id}",
        ),
        body=bodies.Workitem,
        subject=("workitem", "id"),
        time="dateModified",
        state=("operation", "assignmentState"),
        whole=True,
    ),
    Family(
        topics=tuple(
            f"v2.outbound.{medium}.campaigns.contact.{moment}Contact"
            for medium in ("email", "messaging", "preview", "voice", "whatsapp")
            for moment in ("pre", "post")
        ),
        body=bodies.CampaignContact,
        subject=("contact", "outboundContactId"),
        identity=("outboundCampaignId",),
        time="eventTime",
        state=("wrapupCode",),
        whole=True,
    ),
    Family(
        topics=(
            "v2.users.{id}.conversations.{id}.recordings",
            "v2.users.{id}.conversations.{id}.recordings.{id}",
            "v2.users.{id}.recordings",
        ),
        body=bodies.Recording,
        subject=("conversation", "conversationId"),
        identity=("id",),
        state=("fileState",),
        whole=True,
        latest=True,
        latest_by=("id",),
    ),
    Family(
        topics=("v2.users.{id}.voicemail.messages",),
        body=bodies.Voicemail,
        slots=("userId",),
        subject=("user", "userId"),
        identity=("id",),
        time="modifiedDate",
        state=("action", "read", "deleted"),
    ),
    Family(
        topics=("v2.conversations.chats.{id}.members",),
        body=bodies.ChatMember,
        slots=("conversationId",),
        subject=("conversation", "conversationId"),
        identity=("member.id",),
        time="timestamp",
        state=("member.state",),
    ),
    Family(
        topics=("v2.conversations.chats.{id}.messages",),
        body=bodies.ChatMessage,
        slots=("conversationId",),
        subject=("conversation", "conversationId"),
        identity=("id",),
        time="timestamp",
        state=("bodyType",),
    ),
    Family(
        topics=(
            "v2.detail.events.collaboratechat.adhoc.{id}.messages",
            "v2.detail.events.collaboratechat.group.{id}.messages",
        ),
        body=bodies.CollaborateMessage,
        slots=("chatId",),
        subject=("chat", "chatId"),
        identity=("messageId",),
        time="created",
        state=("actionType",),
        whole=True,
    ),
    Family(
        topics=(
            "v2.bot.conversation.{id}.conversations.summaries",
            "v2.users.{id}.conversations.summaries",
        ),
        body=bodies.Summary,
        subject=("conversation", "conversationId"),
        identity=("summaryId",),
        time="createdDate",
        whole=True,
    ),
    Family(
        topics=(
            "v2.users.{id}.workforcemanagement.adherence",
            "v2.workforcemanagement.managementunits.{id}.adherence",
            "v2.workforcemanagement.teams.{id}.adherence",
        ),
        body=bodies.Adherence,
        subject=("user", "user.id"),
        times=("adherenceChangeTime", "presenceUpdateTime", "activeQueuesModifiedTime"),
        state=("adherenceState", "routingStatus", "systemPresence"),
        whole=True,
        latest=True,
    ),
    Family(
        topics=("v2.externalcontacts.contacts.{id}.journey.segments",),
        body=bodies.Segment,
        slots=("contactId",),
        subject=("contact", "contactId"),
        identity=("id",),
        time="createdDate",
        whole=True,
    ),
    Family(
        topics=tuple(
            f"v2.journey.sessions.{{id}}.{kind}.events"
            for kind in ("web", "app", "action", "outcome")
        ),
        body=bodies.JourneyEvent,
        slots=("sessionId",),
        subject=("journey", "sessionId"),
        identity=("id",),
        time="createdDate",
        state=("eventType",),
        whole=True,
    ),
)

BY_TOPIC = {topic: family for family in FAMILIES for topic in family.topics}
