"""What the families rely on in an event's body. Every other field passes unread.

Each field may be missing: a family that misses one of its identity falls back (families.py).
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, PlainValidator, StringConstraints
from pydantic.alias_generators import to_camel

from enrichment.times import to_ms

Id = Annotated[str, StringConstraints(min_length=1)]
When = Annotated[int, PlainValidator(to_ms, json_schema_input_type=int | str)]
Word = str | bool | int


class Body(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="ignore",
        coerce_numbers_to_str=True,
        defer_build=True,
    )


class ConversationEvent(Body):
    """`v2.detail.events.conversation.{id}.*`"""

    conversation_id: Id | None = None
    participant_id: Id | None = None
    session_id: Id | None = None
    event_time: When | None = None
    user_id: Id | None = None
    queue_id: Id | None = None
    flow_id: Id | None = None
    disconnect_type: Word | None = None
    acd_outcome: Word | None = None
    wrapup_code: Word | None = None


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
    modified_date: When | None = None


class Status(Body):
    status: Word | None = None
    start_time: When | None = None


class RoutingStatus(Body):
    """`v2.users.{id}.routingStatus`"""

    id: Id | None = None
    routing_status: Status | None = None
