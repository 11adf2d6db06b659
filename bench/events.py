"""Events as Genesys Cloud delivers them through EventBridge, of usual size, from a seed."""

import copy
import json
import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import count
from random import Random
from typing import Any

from proof.events import enveloped, iso

Event = dict[str, Any]

START_MS = 1_760_000_000_000
PUBLISHED_AFTER_MS = 300
STEPS = ("customer.start", "acd.start", "user.start", "user.end", "acd.end", "customer.end")


class Centre:
    """A contact centre: what happens in it is numbered by the seed, so a run can be repeated."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - to be repeated, not to be guessed
        self.organisation = self.id()
        self.queue = self.id()

    def id(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def event(self, template: str, entity: str, body: dict[str, Any], published_ms: int) -> Event:
        source = f"aws.partner/genesys.com/cloud/{self.organisation}/events"
        return enveloped(template, entity, body, published_ms, source, self.id)

    def conversation(
        self, suffix: str, at_ms: int, conversation: str | None = None, **more: Any
    ) -> Event:
        """Makes a detail event of a voice conversation, in a session of its own by default."""
        conversation = conversation or self.id()
        body = {
            "eventTime": at_ms,
            "conversationId": conversation,
            "participantId": self.id(),
            "sessionId": self.id(),
            "mediaType": "VOICE",
            "provider": "Edge",
            "direction": "INBOUND",
            "ani": "tel:+15555550955",
            "dnis": "tel:+15555550000",
            "divisionId": self.organisation,
            "conversationExternalContactIds": [self.id()],
        }
        if suffix.startswith(("acd", "user")):
            body["queueId"] = self.queue
        if suffix.startswith("user"):
            body["userId"] = self.id()
        if suffix.endswith("end"):
            body["disconnectType"] = "PEER"
        return self.event(
            f"v2.detail.events.conversation.{{id}}.{suffix}",
            conversation,
            {**body, **more},
            at_ms + PUBLISHED_AFTER_MS,
        )

    def presence(self, user: str, state: str, at_ms: int) -> Event:
        """The newest of these wins."""
        definition = str(uuid.uuid5(uuid.NAMESPACE_URL, state))
        body = {
            "source": "PURECLOUD",
            "presenceDefinition": {"id": definition, "systemPresence": state},
            "primary": True,
            "message": "",
            "modifiedDate": iso(at_ms),
        }
        return self.event("v2.users.{id}.presence", user, body, at_ms + PUBLISHED_AFTER_MS)

    def membership(self, user: str, joined: bool, published_ms: int) -> Event:
        """Its body has neither a time nor an id of its own."""
        body = {"id": user, "user": {"id": user}, "queueId": self.queue, "joined": joined}
        return self.event("v2.routing.queues.{id}.users", self.queue, body, published_ms)

    def snapshot(
        self, user: str, conversation: str, published_ms: int, **participant: Any
    ) -> Event:
        """The state of a whole conversation, which tells no time of its own."""
        call = {"id": conversation, "state": "connected", "direction": "inbound", "held": False}
        call |= {"muted": False, "recording": True, "connectedTime": iso(START_MS)}
        agent = {
            "id": user,
            "purpose": "agent",
            "userId": user,
            "queueId": self.queue,
            "connectedTime": iso(START_MS),
            "calls": [call],
            "attributes": {"language": "en"},
        }
        customer = {"id": conversation, "purpose": "customer", "address": "tel:+15555550955"}
        body = {"id": conversation, "participants": [customer, {**agent, **participant}]}
        body["recordingState"] = "active"
        return self.event("v2.users.{id}.conversations", user, body, published_ms)

    def adherence(self, user: str, routing: str, published_ms: int) -> Event:
        """Seven states in one, of which this changes the one without a clock."""
        body = {
            "user": {"id": user},
            "managementUnitId": self.queue,
            "adherenceState": "InAdherence",
            "adherenceChangeTime": iso(START_MS),
            "routingStatus": routing,
        }
        template = "v2.users.{id}.workforcemanagement.adherence"
        return self.event(template, user, body, published_ms)

    def counters(self, queue: str, waiting: int, published_ms: int) -> Event:
        """Numbers that overwrite one another within their interval."""
        metrics = [{"metric": "oWaiting", "qualifier": None, "stats": {"count": waiting}}]
        interval = f"{iso(START_MS)}/{iso(START_MS + 1_800_000)}"
        body = {
            "group": {"queueId": queue, "mediaType": "voice"},
            "data": [{"interval": interval, "metrics": metrics}],
        }
        return self.event("v2.analytics.queues.{id}.observations", queue, body, published_ms)

    def published_again(
        self, event: Event, after_ms: int = 0, integration: str = "events"
    ) -> Event:
        """The same content with all that a second publication changes around it."""
        again = copy.deepcopy(event)
        again["id"] = self.id()
        again["source"] = f"aws.partner/genesys.com/cloud/{self.organisation}/{integration}"
        detail = again["detail"]
        detail["metadata"]["CorrelationId"] = self.id()
        published = datetime.fromisoformat(detail["timestamp"]) + timedelta(milliseconds=after_ms)
        detail["timestamp"] = iso(round(published.timestamp() * 1000))
        again["time"] = detail["timestamp"][:19] + "Z"
        return again


def text(event: Event) -> str:
    """The body of its SQS message, as the rule writes it."""
    return json.dumps(event, separators=(",", ":"))


def usual(centre: Centre) -> Iterator[Event]:
    """Yields events of all usual kinds without end, no event twice."""
    for number in count():
        at_ms, who = START_MS + number * 37, centre.id()
        match number % 10:
            case 0:
                yield centre.presence(who, "AVAILABLE", at_ms)
            case 1:
                yield centre.snapshot(who, centre.id(), at_ms)
            case 2:
                yield centre.membership(who, joined=True, published_ms=at_ms)
            case _:
                yield centre.conversation(STEPS[number % len(STEPS)], at_ms)
