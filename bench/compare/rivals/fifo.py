"""SQS FIFO with content-based deduplication, and a handler that only acts. Given more than a rule
of EventBridge can do: only the topic and the body are queued, so that copies are alike, and every
entity is a message group of its own, so that they need not wait for each other.
"""

import json
from typing import Any

from bench.compare.function import Event, Handler, World
from bench.compare.reading import content_key, entity


def queued(event: Event) -> tuple[str, str]:
    """The message's body and its group."""
    detail = event["detail"]
    body: dict[str, Any] = {"topicName": detail["topicName"], "eventBody": detail["eventBody"]}
    return json.dumps(body, sort_keys=True), entity(event)


def build(world: World) -> Handler:
    def handle(event: Event) -> None:
        world.act(event, content_key(event))

    return world.each(handle)
