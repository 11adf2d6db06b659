"""Streams of events of which it is known what really happened, from a seed.

Each line tells of one happening. The truth is kept beside the lines, by their content, so that what
a destination received can be judged without any key of ours.
"""

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from proof.events import enveloped, iso

START_MS = 1_760_000_000_000
_COPIES = 0.2
_PRESENCES = ("AVAILABLE", "BUSY", "MEAL", "ON_QUEUE", "BREAK")
_ROUTING = ("IDLE", "INTERACTING", "COMMUNICATING", "NOT_RESPONDING", "OFF_QUEUE")
_CHAT = ("queued", "alerting", "connected", "on_hold", "connected", "wrapup")
_CALL = ("customer.start", "acd.start", "acd.end", "user.start", "user.end", "acw", "customer.end")

Event = dict[str, Any]


@dataclass(frozen=True)
class Happening:
    """Something that must act once, unless it is broken or a newer state of its latest_by is known.

    What is poison fails whenever it is called for, and has to be given up. What returns is a state
    that tells no time of its own: published once more, it may be a change back to it.
    """

    name: str
    at_ms: int
    latest_by: str | None = None
    broken: bool = False
    poison: bool = False
    returns: bool = False


@dataclass
class Stream:
    """Lines to send, and what each of them tells of."""

    lines: list[str] = field(default_factory=list)
    said: list[Happening] = field(default_factory=list)
    poisoned: list[str] = field(default_factory=list)  # conversations of what is poison
    _by_content: dict[str, Happening] = field(default_factory=dict)

    def tell(self, happening: Happening, event: Event | str) -> None:
        if not isinstance(event, str):
            content = _content(*_topic_and_body(event))
            known = self._by_content.setdefault(content, happening)
            assert known == happening, f"{known} and {happening} read the same"
        self.lines.append(event if isinstance(event, str) else json.dumps(event))
        self.said.append(happening)

    def about(self, topic: str, body: Any) -> Happening:
        """Finds the true event that a request with this topic and body is about."""
        return self._by_content[_content(topic, body)]

    def overtaken(self, happening: Happening) -> bool:
        return any(
            other.latest_by == happening.latest_by is not None and other.at_ms > happening.at_ms
            for other in self.said
        )


def _topic_and_body(event: Event) -> tuple[str, Any]:
    detail = event["detail"]
    if "eventBody" in detail:
        return detail["topicName"], detail["eventBody"]
    return event["detail-type"], detail


def _content(topic: str, body: Any) -> str:
    return json.dumps([topic, body], sort_keys=True)


class Centre:
    """A contact centre: whatever happens in it follows from the seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)  # noqa: S311 - to be repeated, not to be guessed
        self._now_ms = START_MS
        self._happened = 0
        self.organisation = self._id()
        self.queue = self._id()
        self.stream = Stream()

    def _id(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _later(self) -> int:
        self._now_ms += self._random.randint(2_000, 9_000)
        return self._now_ms

    def _happens(
        self,
        latest_by: str | None,
        tell: Callable[[int], Event],
        *,
        at_ms: int | None = None,
        returns: bool = False,
    ) -> None:
        """Sent once, or with copies; `tell` says it again for a moment up to 400 ms later."""
        self._happened += 1
        at_ms = at_ms or self._later()
        happening = Happening(f"h{self._happened}", at_ms, latest_by, returns=returns)
        first = tell(0)
        self.stream.tell(happening, first)
        while self._random.random() < _COPIES:
            again = self._random.choice(("same", "republished", "second integration"))
            copy = first if again == "same" else tell(self._random.randint(1, 400))
            if again == "second integration":
                copy = {**copy, "source": f"{copy['source']}-too"}
            self.stream.tell(happening, copy)

    def _genesys(self, template: str, entity: str, body: Event, published_ms: int) -> Event:
        source = f"aws.partner/genesys.com/cloud/{self.organisation}/events"
        return enveloped(template, entity, body, published_ms, source, self._id)

    def call(self) -> None:
        """Exact, in no order: each of its events counts. Some are in the same millisecond."""
        conversation, person, session = self._id(), self._id(), self._id()
        at_ms = self._later()
        for suffix in _CALL:
            if self._random.random() < 0.7:
                at_ms = self._later()
            body = {
                "eventTime": at_ms,
                "conversationId": conversation,
                "participantId": person,
                "sessionId": session,
                "mediaType": "VOICE",
                "direction": "INBOUND",
            }
            if suffix != "customer.start":
                body["queueId"] = self.queue
            if suffix.endswith(".end"):
                body["disconnectType"] = "PEER"
            template = f"v2.detail.events.conversation.{{id}}.{suffix}"

            def tell(
                late_ms: int, template: str = template, body: Event = body, at_ms: int = at_ms
            ) -> Event:
                return self._genesys(template, conversation, body, at_ms + 300 + late_ms)

            self._happens(None, tell, at_ms=at_ms)

    def agent(self) -> None:
        """Exact, and the newest state counts."""
        user = self._id()
        for _ in range(3):
            presence, at_ms = self._random.choice(_PRESENCES), self._later()
            body: Event = {
                "source": "PURECLOUD",
                "presenceDefinition": {"id": self._id(), "systemPresence": presence},
                "primary": True,
                "message": "",
                "modifiedDate": iso(at_ms),
            }
            self._state("v2.users.{id}.presence", user, f"presence {user}", body, at_ms)
            status, at_ms = self._random.choice(_ROUTING), self._later()
            body = {"id": user, "routingStatus": {"status": status, "startTime": iso(at_ms)}}
            self._state("v2.users.{id}.routingStatus", user, f"routing {user}", body, at_ms)

    def _state(self, template: str, entity: str, latest_by: str, body: Event, at_ms: int) -> None:
        def tell(late_ms: int) -> Event:
            return self._genesys(template, entity, body, at_ms + 60 + late_ms)

        self._happens(latest_by, tell, at_ms=at_ms)

    def queue_view(self) -> None:
        """Snapshots of a whole conversation without a time: whatever differs in one is a change."""
        conversation, person, call = self._id(), self._id(), self._id()
        at_ms = self._later()
        times: dict[str, str] = {"startTime": iso(at_ms)}
        for state, moment, language in (
            ("alerting", "startTime", "en"),
            ("connected", "connectedTime", "en"),
            ("connected", "connectedTime", "de"),
            ("disconnected", "endTime", "de"),
        ):
            times.setdefault(moment, iso(at_ms))
            telephone = {"id": call, "state": state, "held": False, **times}

            one = {
                "id": person,
                "purpose": "customer",
                "calls": [telephone],
                "attributes": {"language": language},
            }
            body: Event = {"id": conversation, "participants": [one]}

            def tell(late_ms: int, body: Event = body, at_ms: int = at_ms) -> Event:
                template = "v2.routing.queues.{id}.conversations"
                return self._genesys(template, self.queue, body, at_ms + 90 + late_ms)

            self._happens(f"snapshot {conversation}", tell, at_ms=at_ms, returns=True)
            at_ms = self._later()

    def chat(self) -> None:
        """Windowed: flattened by hand, numbered again with every copy, states that come again."""
        conversation = self._id()
        for status in _CHAT:
            at_ms = self._later()

            def tell(late_ms: int, status: str = status, at_ms: int = at_ms) -> Event:
                return {
                    "version": "0",
                    "id": self._id(),
                    "detail-type": "Conversation Status Change",
                    "source": "contact-centre.chat",
                    "account": "123456789012",
                    "time": iso(at_ms)[:19] + "Z",
                    "region": "eu-central-1",
                    "resources": [],
                    "detail": {
                        "event_id": self._id(),
                        "conversation_id": conversation,
                        "status": status,
                        "timestamp": iso(at_ms + late_ms),
                    },
                }

            self._happens(f"chat {conversation}", tell, at_ms=at_ms)

    def membership(self) -> None:
        """A state: joining and leaving a queue, with no time but that of publishing."""
        user = self._id()
        for joined in (True, False):
            at_ms = self._later()
            body = {"id": user, "user": {"id": user}, "queueId": self.queue, "joined": joined}

            def tell(late_ms: int, body: Event = body, at_ms: int = at_ms) -> Event:
                return self._genesys(
                    "v2.routing.queues.{id}.users", self.queue, body, at_ms + late_ms
                )

            self._happens(f"member {user}", tell, at_ms=at_ms, returns=True)

    def poison(self) -> None:
        conversation, at_ms = self._id(), self._later()
        body = {"eventTime": at_ms, "conversationId": conversation, "participantId": self._id()}
        self._happened += 1
        happening = Happening(f"h{self._happened}", at_ms, poison=True)
        template = "v2.detail.events.conversation.{id}.customer.start"
        self.stream.tell(happening, self._genesys(template, conversation, body, at_ms + 300))
        self.stream.poisoned.append(conversation)

    def cut_off(self) -> None:
        self._happened += 1
        happening = Happening(f"h{self._happened}", self._later(), broken=True)
        self.stream.tell(happening, f'{{"id": "{self._id()}", "detail": {{')


def chaos_stream(seed: int, lines: int, *, poison: int = 0) -> Stream:
    """Makes a stream of calls, agents, queues, chats and memberships, with a few broken lines."""
    centre, random = Centre(seed), Random(seed)  # noqa: S311
    # First, as they take the longest, and are given up only while others are answered.
    for _ in range(poison):
        centre.poison()
    scenes: Mapping[Callable[[], None], int] = {
        centre.call: 40,
        centre.agent: 15,
        centre.queue_view: 20,
        centre.chat: 20,
        centre.membership: 20,
        centre.cut_off: 5,
    }
    while len(centre.stream.lines) < lines:
        random.choices(list(scenes), weights=list(scenes.values()))[0]()
    del centre.stream.lines[lines:], centre.stream.said[lines:]
    return centre.stream
