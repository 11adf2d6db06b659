"""Makes small events to send, each about a conversation of its own unless one is given."""

import uuid
from typing import Any

ORGANISATION = "1f0e6a52-0000-4000-8000-00000000000a"


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
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "v2.detail.events.conversation.{id}.customer.start",
        "source": f"aws.partner/genesys.com/cloud/{ORGANISATION}/tests",
        "account": "123456789012",
        "time": "2025-03-12T09:00:00Z",
        "region": "eu-central-1",
        "resources": [],
        "detail": {
            "topicName": f"v2.detail.events.conversation.{conversation}.customer.start",
            "version": "2",
            "eventBody": event_body,
            "metadata": {"CorrelationId": str(uuid.uuid4())},
            "timestamp": "2025-03-12T09:00:00.300Z",
        },
    }
