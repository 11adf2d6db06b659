"""Events of one morning, all invented, each with only what its test is about."""

from random import Random
from typing import Any

from schemas import examples

ORGANISATION = "4c0ffee0-51de-4d15-8a5e-0b5e55edface"
CONVERSATION = "7ab1e5e7-0a11-4b00-9c0d-000000000001"
USER = "0af1ce00-0000-4a9e-8000-000000000007"
QUEUE = "5e11ab1e-0000-4b0e-8000-000000000003"
NINE_MS = 1741770000000  # 2025-03-12T09:00:00Z

Event = dict[str, Any]


def event(template: str, body: Event, *ids: str, **detail: Any) -> Event:
    """An event as EventBridge delivers it; `detail` replaces what is around its body."""
    topic = template
    for one in ids:
        topic = topic.replace("{id}", one, 1)
    return {
        "version": "0",
        "id": "0b5e55ed-0000-4000-8000-00000000beef",
        "detail-type": template,
        "source": f"aws.partner/genesys.com/cloud/{ORGANISATION}/first",
        "account": "123456789012",
        "time": "2025-03-12T09:00:01Z",
        "region": "eu-central-1",
        "resources": [],
        "detail": {
            "topicName": topic,
            "version": "2",
            "eventBody": body,
            "metadata": {"CorrelationId": "c0ffee00-0000-4000-8000-00000000cafe"},
            "timestamp": "2025-03-12T09:00:01.300Z",
            **detail,
        },
    }


def conversation(suffix: str, **body: Any) -> Event:
    """One step of a conversation."""
    whole = {
        "eventTime": NINE_MS,
        "conversationId": CONVERSATION,
        "participantId": "participant-1",
        "sessionId": "session-1",
        "mediaType": "VOICE",
        "direction": "INBOUND",
        **body,
    }
    template = f"v2.detail.events.conversation.{{id}}.{suffix}"
    return event(template, whole, whole["conversationId"])


def presence(**body: Any) -> Event:
    """A user's presence; the user is in the topic alone."""
    whole = {
        "source": "PURECLOUD",
        "presenceDefinition": {"id": "definition-1", "systemPresence": "AVAILABLE"},
        "primary": True,
        "message": "",
        "modifiedDate": "2025-03-12T09:00:00.123Z",
        **body,
    }
    return event("v2.users.{id}.presence", whole, USER)


def snapshot(*participants: Event, topic: str = "v2.users.{id}.conversations") -> Event:
    """The state of a conversation, as it is sent to a user or a queue."""
    body = {"id": CONVERSATION, "participants": list(participants), "recordingState": "none"}
    return event(topic, body, USER if "users" in topic else QUEUE)


def agent(**call: Any) -> Event:
    """A participant with one call."""
    whole = {
        "id": "call-1",
        "state": "connected",
        "held": False,
        "muted": False,
        "connectedTime": "2025-03-12T08:59:00.000Z",
        **call,
    }
    return {
        "id": "participant-1",
        "purpose": "agent",
        "connectedTime": "2025-03-12T08:59:00.000Z",
        "attributes": {"language": "de"},
        "calls": [whole],
    }


def named(name: str) -> Event:
    """Returns an event of schemas/examples.jsonl."""
    return next(example["event"] for example in examples.read() if example["name"] == name)


def disguised(event: Event) -> Event:
    """Returns what a copy may look like: other ids, source, times of publication, order of fields,
    nulls and decimals."""
    other: Event = _shuffled(event, Random(1))  # noqa: S311
    other["id"] = "6efd5506-3fd6-09a1-5599-09ae48bd6dd8"
    other["time"] = "2025-03-12T10:00:01Z"
    other["source"] = event["source"].replace("/first", "/second")
    other["detail"]["metadata"]["CorrelationId"] = "another-archival"
    other["detail"]["timestamp"] = "2025-03-12T10:00:00.999Z"
    other["detail"]["eventBody"] = _rewritten(other["detail"]["eventBody"])
    return other


def _shuffled(value: Any, random: Random) -> Any:
    if isinstance(value, dict):
        names = random.sample([*value], len(value))
        return {name: _shuffled(value[name], random) for name in names}
    return [_shuffled(part, random) for part in value] if isinstance(value, list) else value


def _rewritten(value: Any) -> Any:
    """Writes a body as another serializer would: with fields that are null, and 5 as 5.0."""
    if isinstance(value, dict):
        return {name: _rewritten(inner) for name, inner in value.items()} | {"unset": None}
    if isinstance(value, list):
        return [_rewritten(part) for part in value]
    return float(value) if type(value) is int else value
