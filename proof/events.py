"""Makes events as EventBridge delivers them; small ones to send are each about a conversation of
their own unless one is given."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

ORGANISATION = "1f0e6a52-0000-4000-8000-00000000000a"


def iso(ms: int) -> str:
    moment = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=ms)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def enveloped(
    template: str,
    entity: str,
    body: dict[str, Any],
    published_ms: int,
    source: str,
    new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
) -> dict[str, Any]:
    """Returns an event of Genesys Cloud in its envelope; `entity` is the id in its topic."""
    return {
        "version": "0",
        "id": new_id(),
        "detail-type": template,
        "source": source,
        "account": "123456789012",
        "time": iso(published_ms)[:19] + "Z",
        "region": "eu-central-1",
        "resources": [],
        "detail": {
            "topicName": template.replace("{id}", entity),
            "version": "2",
            "eventBody": body,
            "metadata": {"CorrelationId": new_id()},
            "timestamp": iso(published_ms),
        },
    }


def customer_start(conversation: str | None = None, **body: Any) -> dict[str, Any]:
    conversation = conversation or str(uuid.uuid4())
    event_body = {
        "eventTime": 1741770000000,
        "conversationId": conversation,
        "participantId": f"participant-of-{conversation}",
        "sessionId": f"session-of-{conversation}",
        "mediaType": "VOICE",
        **body,
    }
    source = f"aws.partner/genesys.com/cloud/{ORGANISATION}/tests"
    template = "v2.detail.events.conversation.{id}.customer.start"
    return enveloped(template, conversation, event_body, 1_741_770_000_300, source)
