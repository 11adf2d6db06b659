"""Every family that is more than the generic rule: one declaration each, in this one place."""

from dataclasses import dataclass

from enrichment.bodies import Body, ConversationEvent, Presence, RoutingStatus
from enrichment.topics import family_name


@dataclass(frozen=True, kw_only=True)
class Family:
    """How the events of some topics are told apart. Names are fields of `body`, dotted if nested.

    The key is the subject, then `identity` (each must be there), `time`, `state` and `content`
    (each where it is there). With neither `time` nor `unique` it is windowed.
    """

    topics: tuple[str, ...]
    body: type[Body]
    subject: tuple[str, str]
    identity: tuple[str, ...] = ()
    time: str | None = None
    unique: bool = False
    state: tuple[str, ...] = ()
    content: tuple[str, ...] = ()  # free or long: hashed
    slots: tuple[str, ...] = ()  # what the topic's ids are called where the body lacks them
    word: str = ""  # the state, where the topic itself says it
    latest: bool = False
    lane: tuple[str, ...] = ()

    def name(self, topic: str) -> str:
        return family_name(topic)


def _conversation(suffix: str, *state: str) -> Family:
    return Family(
        topics=(f"v2.detail.events.conversation.{{id}}.{suffix}",),
        body=ConversationEvent,
        subject=("conversation", "conversation_id"),
        identity=("participant_id", "session_id"),
        time="event_time",
        state=state,
        word=suffix,
    )


FAMILIES = (
    _conversation("customer.start"),
    _conversation("customer.end", "disconnect_type"),
    _conversation("user.start", "user_id", "queue_id"),
    _conversation("user.end", "user_id", "queue_id", "disconnect_type"),
    _conversation("acd.start", "queue_id"),
    _conversation("acd.end", "queue_id", "acd_outcome", "disconnect_type"),
    _conversation("flow.start", "flow_id"),
    _conversation("flow.end", "flow_id", "disconnect_type"),
    _conversation("acw", "user_id", "wrapup_code"),
    _conversation("wrapup", "queue_id", "wrapup_code"),
    Family(
        topics=("v2.users.{id}.presence",),
        body=Presence,
        slots=("userId",),
        subject=("user", "user_id"),
        identity=("presence_definition.id",),
        time="modified_date",
        state=("presence_definition.system_presence", "source", "primary"),
        content=("message",),
        latest=True,
        lane=("source",),
    ),
    Family(
        topics=("v2.users.{id}.routingStatus",),
        body=RoutingStatus,
        subject=("user", "id"),
        identity=("routing_status.status",),
        time="routing_status.start_time",
        latest=True,
    ),
)

BY_TOPIC = {topic: family for family in FAMILIES for topic in family.topics}
