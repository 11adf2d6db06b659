"""Every family that is more than the generic rule: one declaration each, in this one place."""

from dataclasses import dataclass

from enrichment import bodies
from enrichment.bodies import Body
from enrichment.snapshots import Snapshot


@dataclass(frozen=True, kw_only=True)
class Family:
    """How the events of some topics are told apart. All names are fields of `body`, or dotted.

    The key is made of the subject, then `identity` and `time` (each must be there), then `state`
    and `content` (each as far as it is there). Its name follows from the topic.
    """

    topics: tuple[str, ...]
    body: type[Body]
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
    lane: tuple[str, ...] = ()  # what tells apart more than one latest of a subject


def _conversation(suffix: str, body: type[Body], *state: str) -> Family:
    return Family(
        topics=(f"v2.detail.events.conversation.{{id}}.{suffix}",),
        body=body,
        subject=("conversation", "conversation_id"),
        identity=("participant_id", "session_id"),
        time="event_time",
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
        content=("participants", "recording_state", "secure_pause"),
        latest=True,
        lane=(field,),
    )


def _counters(kind: str, *topics: str) -> Family:
    return Family(
        topics=topics,
        body=bodies.Counters,
        slots=(f"{kind}Id",),
        subject=(kind, f"{kind}_id"),
        whole=True,
        latest=True,
        lane=("group", "data"),
    )


FAMILIES = (
    _conversation("customer.start", bodies.ConversationEvent),
    _conversation("customer.end", bodies.StartOrEnd, "disconnect_type"),
    _conversation("user.start", bodies.StartOrEnd, "user_id", "queue_id"),
    _conversation("user.end", bodies.StartOrEnd, "user_id", "queue_id", "disconnect_type"),
    _conversation("acd.start", bodies.StartOrEnd, "queue_id"),
    _conversation(
        "acd.end", bodies.AcdEnd, "queue_id", "acd_outcome", "answered_user_id", "disconnect_type"
    ),
    _conversation("flow.start", bodies.StartOrEnd, "flow_id"),
    _conversation(
        "flow.end", bodies.FlowEnd, "flow_id", "disconnect_type", "exit_reason", "transfer_type"
    ),
    _conversation(
        "flow.outcome",
        bodies.FlowOutcome,
        "flow_id",
        "flow_outcome_id",
        "flow_outcome_value",
        "flow_outcome_start_time",
        "flow_outcome_end_time",
    ),
    _conversation("acw", bodies.Wrapup, "user_id", "queue_id", "wrapup_code"),
    _conversation("wrapup", bodies.Wrapup, "user_id", "queue_id", "wrapup_code"),
    _conversation("voicemail.start", bodies.StartOrEnd, "user_id", "queue_id"),
    _conversation("voicemail.end", bodies.StartOrEnd, "user_id", "queue_id", "disconnect_type"),
    _conversation("contact", bodies.Contact, "external_contact_id", "external_organization_id"),
    _conversation(
        "outbound",
        bodies.Outbound,
        "outbound_campaign_id",
        "outbound_contact_list_id",
        "outbound_contact_id",
    ),
    Family(
        topics=("v2.detail.events.conversation.{id}.attributes",),
        body=bodies.Attributes,
        subject=("conversation", "conversation_id"),
        identity=("participant_id",),
        time="event_time",
        content=("attributes", "communications"),
        word="attributes",
    ),
    Family(
        topics=("v2.detail.events.agent.{id}.state",),
        body=bodies.AgentState,
        subject=("user", "user_id"),
        slots=("userId",),
        identity=("session_id",),
        time="current_state_start",
        state=("current_state", "conversation_id", "queue_id"),
    ),
    Family(
        topics=("v2.users.{id}.presence",),
        body=bodies.Presence,
        slots=("userId",),
        subject=("user", "user_id"),
        identity=("presence_definition.id",),
        time="modified_date",
        state=("presence_definition.system_presence", "source", "primary"),
        content=("message", "future_presence_definition"),
        latest=True,
        lane=("source",),
    ),
    Family(
        topics=("v2.users.{id}.routingStatus",),
        body=bodies.RoutingStatus,
        subject=("user", "id"),
        time="routing_status.start_time",
        state=("routing_status.status",),
        content=("error_info",),
        latest=True,
    ),
    Family(
        topics=("v2.users.{id}.activity",),
        body=bodies.Activity,
        subject=("user", "id"),
        times=(
            "routing_status.start_time",
            "presence.modified_date",
            "out_of_office.modified_date",
            "date_active_queues_changed",
        ),
        state=("routing_status.status", "presence.presence_definition.system_presence"),
        whole=True,
        latest=True,
    ),
    Family(
        topics=("v2.users.{id}.conversationsummary", "v2.users.{id}.station"),
        body=bodies.OfUser,
        slots=("userId",),
        subject=("user", "user_id"),
        whole=True,
        latest=True,
    ),
    _snapshots("users", "userId", "user_id"),
    _snapshots("routing.queues", "queueId", "queue_id"),
    Family(
        topics=("v2.routing.queues.{id}.users",),
        body=bodies.Member,
        slots=("queueId",),
        subject=("queue", "queue_id"),
        identity=("member_id",),
        state=("joined", "id"),
        latest=True,
        lane=("member_id",),
    ),
    Family(
        topics=("v2.conversations.{id}.transcription",),
        body=bodies.Transcription,
        subject=("conversation", "conversation_id"),
        identity=("communication_id",),
        time="event_time",
        state=("status.status", "status.offset_ms"),
        content=("transcripts",),
    ),
    Family(
        topics=("v2.audits.entitytype.{id}.entityid.{id}",),
        body=bodies.Audit,
        slots=("entityType", "entityId"),
        subject=("entity", "entity_id"),
        identity=("id",),
        time="event_time",
        state=("action", "entity_type", "user_id"),
    ),
    Family(
        topics=("v2.analytics.conversation.{id}.metrics", "v2.analytics.flow.{id}.metrics"),
        body=bodies.Metric,
        subject=("conversation", "conversation_id"),
        identity=("record_id",),
        time="metric_date",
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
        subject=("entity", "entity_id"),
        identity=("event_id",),
        time="timestamp",
        state=("current_value",),
        whole=True,
    ),
    Family(
        topics=("v2.quality.evaluations",),
        body=bodies.Evaluation,
        subject=("evaluation", "id"),
        time="event_time",
        state=("status", "event_type"),
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
        time="date_modified",
        state=("operation", "assignment_state"),
        whole=True,
    ),
    Family(
        topics=tuple(
            f"v2.outbound.{medium}.campaigns.contact.{moment}Contact"
            for medium in ("email", "messaging", "preview", "voice", "whatsapp")
            for moment in ("pre", "post")
        ),
        body=bodies.CampaignContact,
        subject=("contact", "outbound_contact_id"),
        identity=("outbound_campaign_id",),
        time="event_time",
        state=("wrapup_code",),
        whole=True,
    ),
    Family(
        topics=(
            "v2.users.{id}.conversations.{id}.recordings",
            "v2.users.{id}.conversations.{id}.recordings.{id}",
            "v2.users.{id}.recordings",
        ),
        body=bodies.Recording,
        subject=("conversation", "conversation_id"),
        identity=("id",),
        state=("file_state",),
        whole=True,
        latest=True,
        lane=("id",),
    ),
    Family(
        topics=("v2.users.{id}.voicemail.messages",),
        body=bodies.Voicemail,
        slots=("userId",),
        subject=("user", "user_id"),
        identity=("id",),
        time="modified_date",
        state=("action", "read", "deleted"),
    ),
    Family(
        topics=("v2.conversations.chats.{id}.members",),
        body=bodies.ChatMember,
        slots=("conversationId",),
        subject=("conversation", "conversation_id"),
        identity=("member.id",),
        time="timestamp",
        state=("member.state",),
    ),
    Family(
        topics=("v2.conversations.chats.{id}.messages",),
        body=bodies.ChatMessage,
        slots=("conversationId",),
        subject=("conversation", "conversation_id"),
        identity=("id",),
        time="timestamp",
        state=("body_type",),
    ),
    Family(
        topics=(
            "v2.detail.events.collaboratechat.adhoc.{id}.messages",
            "v2.detail.events.collaboratechat.group.{id}.messages",
        ),
        body=bodies.CollaborateMessage,
        slots=("chatId",),
        subject=("chat", "chat_id"),
        identity=("message_id",),
        time="created",
        state=("action_type",),
        whole=True,
    ),
    Family(
        topics=(
            "v2.bot.conversation.{id}.conversations.summaries",
            "v2.users.{id}.conversations.summaries",
        ),
        body=bodies.Summary,
        subject=("conversation", "conversation_id"),
        identity=("summary_id",),
        time="created_date",
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
        times=("adherence_change_time", "presence_update_time", "active_queues_modified_time"),
        state=("adherence_state", "routing_status", "system_presence"),
        whole=True,
        latest=True,
    ),
    Family(
        topics=("v2.externalcontacts.contacts.{id}.journey.segments",),
        body=bodies.Segment,
        slots=("contactId",),
        subject=("contact", "contact_id"),
        identity=("id",),
        time="created_date",
        whole=True,
    ),
    Family(
        topics=tuple(
            f"v2.journey.sessions.{{id}}.{kind}.events"
            for kind in ("web", "app", "action", "outcome")
        ),
        body=bodies.JourneyEvent,
        slots=("sessionId",),
        subject=("journey", "session_id"),
        identity=("id",),
        time="created_date",
        state=("event_type",),
        whole=True,
    ),
)

BY_TOPIC = {topic: family for family in FAMILIES for topic in family.topics}
