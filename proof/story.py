"""Writes the example stream, a morning in a contact centre, and what must become of each line.

`python -m proof.story` writes story.jsonl, story.expected.json and story.destination.json to
once/examples. Every id and number is invented.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from once.project import EXAMPLE

FOLDER = EXAMPLE.parent
MORNING = datetime(2025, 3, 12, tzinfo=UTC)


def _id(name: str) -> str:
    return str(uuid5(NAMESPACE_URL, f"genesys-once/story/{name}"))


ORGANISATION = _id("organisation")
QUEUE = _id("queue sales")
FIRST_AGENT, SECOND_AGENT = _id("first agent"), _id("second agent")
CALL, CHAT, ABANDONED_CALL = _id("call"), _id("chat"), _id("abandoned call")


@dataclass(frozen=True)
class StoryLine:
    """One line: what is sent, which happening it tells of, and what becomes of it one by one."""

    text: str
    happening: str
    outcome: str
    # When lines are not sent one by one, a newer state of the same thing may overtake it.
    overtakable: bool


class Story:
    def __init__(self) -> None:
        self.lines: list[StoryLine] = []

    def tell(
        self, event: Mapping[str, Any], happening: str, outcome: str, overtakable: bool = False
    ) -> None:
        text = json.dumps(event, separators=(",", ":"))
        self.lines.append(StoryLine(text, happening, outcome, overtakable))

    def happens(self, event: Mapping[str, Any], happening: str, overtakable: bool = False) -> None:
        self.tell(event, happening, "PROCESSED", overtakable)

    def again(self, event: Mapping[str, Any]) -> None:
        """A copy of the happening that was told last under that event's content."""
        wanted = _content(event)
        original = next(t for t in reversed(self.lines) if _content(json.loads(t.text)) == wanted)
        self.tell(event, original.happening, "DUPLICATE", original.overtakable)


def _content(event: Mapping[str, Any]) -> Any:
    """Returns the part that copies share, without the envelope and the ids."""
    detail = event["detail"]
    if "eventBody" in detail:
        return detail["topicName"], detail["eventBody"]
    return {name: v for name, v in detail.items() if name not in ("event_id", "timestamp")}


def _at(clock: str) -> datetime:
    hours, minutes, seconds = clock.split(":")
    return MORNING + timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds))


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _genesys(
    template: str,
    entity: str,
    body: Mapping[str, Any],
    published: datetime,
    *,
    delivery: str = "first",
    integration: str = "sales-events",
) -> dict[str, Any]:
    """Makes an event as Genesys Cloud publishes it; a second `delivery` has other ids."""
    topic = template.replace("{id}", entity)
    return {
        "version": "0",
        "id": _id(f"envelope {delivery} {integration} {topic} {json.dumps(body)}"),
        "detail-type": template,
        "source": f"aws.partner/genesys.com/cloud/{ORGANISATION}/{integration}",
        "account": "123456789012",
        "time": published.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": "eu-central-1",
        "resources": [],
        "detail": {
            "topicName": topic,
            "version": "2",
            "eventBody": dict(body),
            "metadata": {
                "CorrelationId": _id(f"correlation {delivery} {topic} {json.dumps(body)}")
            },
            "timestamp": _iso(published),
        },
    }


def _call(conversation: str, suffix: str, clock: str, session: str, **more: Any) -> dict[str, Any]:
    """A detail event of a phone call; `more` may say another delivery or integration."""
    around = {name: more.pop(name) for name in ("delivery", "integration") if name in more}
    moment = _at(clock)
    body = {
        "eventTime": _ms(moment),
        "conversationId": conversation,
        "participantId": _id(f"participant {session} {conversation}"),
        "sessionId": _id(f"session {session} {conversation}"),
        "mediaType": "VOICE",
        "provider": "Edge",
        "direction": "INBOUND",
        "ani": "tel:+15555550123",
        "dnis": "tel:+15555550100",
        **more,
    }
    template = f"v2.detail.events.conversation.{{id}}.{suffix}"
    published = moment + timedelta(milliseconds=300)
    return _genesys(template, conversation, body, published, **around)


def _presence(agent: str, presence: str, clock: str, **around: str) -> dict[str, Any]:
    body = {
        "source": "PURECLOUD",
        "presenceDefinition": {"id": _id(presence), "systemPresence": presence},
        "primary": True,
        "message": "",
        "modifiedDate": _iso(_at(clock)),
    }
    published = _at(clock) + timedelta(milliseconds=90)
    return _genesys("v2.users.{id}.presence", agent, body, published, **around)


def _routing(agent: str, status: str, clock: str, **around: str) -> dict[str, Any]:
    body = {"id": agent, "routingStatus": {"status": status, "startTime": _iso(_at(clock))}}
    published = _at(clock) + timedelta(milliseconds=60)
    return _genesys("v2.users.{id}.routingStatus", agent, body, published, **around)


def _joins(agent: str, clock: str, **around: str) -> dict[str, Any]:
    body = {"id": agent, "user": {"id": agent}, "queueId": QUEUE, "joined": True}
    return _genesys("v2.routing.queues.{id}.users", QUEUE, body, _at(clock), **around)


def _chat(status: str, clock: str, number: int) -> dict[str, Any]:
    """A flattened event of the company's own chat bridge, which numbers what it sends."""
    return {
        "version": "0",
        "id": _id(f"chat envelope {number}"),
        "detail-type": "Conversation Status Change",
        "source": "contact-centre.chat",
        "account": "123456789012",
        "time": _at(clock).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": "eu-central-1",
        "resources": [],
        "detail": {
            "event_id": f"chat-{number:04}",
            "conversation_id": CHAT,
            "status": status,
            "timestamp": _iso(_at(clock)),
        },
    }


def morning() -> Story:
    story = Story()
    happens, again, tell = story.happens, story.again, story.tell

    # Two agents come in. Genesys delivers one presence twice, the same message once more.
    happens(_presence(FIRST_AGENT, "AVAILABLE", "08:56:02.118"), "first agent available", True)
    happens(_presence(SECOND_AGENT, "AVAILABLE", "08:57:40.903"), "second agent available", True)
    happens(_joins(FIRST_AGENT, "08:58:11.412"), "first agent joins the queue")
    happens(_presence(FIRST_AGENT, "ON_QUEUE", "08:58:30.257"), "first agent on queue", True)
    again(_presence(FIRST_AGENT, "ON_QUEUE", "08:58:30.257"))
    happens(_routing(FIRST_AGENT, "IDLE", "08:58:30.301"), "first agent idle", True)
    happens(_joins(SECOND_AGENT, "08:58:52.640"), "second agent joins the queue")
    happens(_presence(SECOND_AGENT, "ON_QUEUE", "08:59:07.014"), "second agent on queue", True)
    happens(_routing(SECOND_AGENT, "IDLE", "08:59:07.066"), "second agent idle", True)
    again(_routing(SECOND_AGENT, "IDLE", "08:59:07.066", delivery="republished"))

    # A customer calls, listens to the menu and waits in the queue.
    customer, menu, acd = "customer", "menu", "acd"
    flow = {"flowId": _id("flow"), "flowType": "INBOUNDCALL"}
    queue = {"queueId": QUEUE}
    happens(_call(CALL, "customer.start", "09:01:15.220", customer), "call: customer arrives")
    happens(_call(CALL, "flow.start", "09:01:15.431", menu, **flow), "call: menu starts")
    again(_call(CALL, "customer.start", "09:01:15.220", customer))
    again(_call(CALL, "flow.start", "09:01:15.431", menu, delivery="republished", **flow))
    end = {**flow, "disconnectType": "TRANSFER"}
    happens(_call(CALL, "flow.end", "09:01:48.902", menu, **end), "call: menu ends")
    happens(_call(CALL, "acd.start", "09:01:48.907", acd, **queue), "call: enters the queue")
    second = {"integration": "reporting-events"}
    again(_call(CALL, "acd.start", "09:01:48.907", acd, **second, **queue))
    loyal = {"attributes": {"Customer tier": "gold"}}
    happens(_call(CALL, "attributes", "09:01:49.118", customer, **loyal), "call: tier is known")

    # The first agent takes it: two states in the same millisecond, both real. Just now the data
    # action is rate limited once, and fails once: see story.destination.json.
    agent = {"userId": FIRST_AGENT, **queue}
    taken = {**queue, "acdOutcome": "ANSWERED", "disconnectType": "TRANSFER"}
    happens(_call(CALL, "user.start", "09:02:10.777", "agent", **agent), "call: agent takes it")
    happens(_call(CALL, "acd.end", "09:02:10.777", acd, **taken), "call: leaves the queue")
    busy, talking = "first agent interacting", "first agent communicating"
    happens(_routing(FIRST_AGENT, "INTERACTING", "09:02:10.777"), busy, True)
    happens(_routing(FIRST_AGENT, "COMMUNICATING", "09:02:10.777"), talking, True)
    again(_routing(FIRST_AGENT, "INTERACTING", "09:02:10.777", delivery="republished"))

    # Meanwhile a chat comes in through the company's own bridge. It repeats itself under new
    # numbers within half a second; it hands `alerting` over late, after `connected`.
    happens(_chat("queued", "09:03:00.100", 1), "chat: queued", True)
    again(_chat("queued", "09:03:00.310", 2))
    happens(_chat("connected", "09:03:21.640", 4), "chat: connected", True)
    tell(_chat("alerting", "09:03:19.005", 3), "chat: alerting, told too late", "STALE", True)
    again(_chat("connected", "09:03:22.120", 5))
    happens(_chat("on_hold", "09:04:40.250", 6), "chat: on hold", True)
    happens(_chat("connected", "09:05:02.700", 7), "chat: connected again", True)
    again(_chat("connected", "09:05:02.700", 7))
    happens(_chat("on_hold", "09:06:15.050", 8), "chat: on hold again", True)
    again(_chat("on_hold", "09:06:15.240", 9))
    happens(_chat("connected", "09:06:44.480", 10), "chat: connected a third time", True)
    again(_chat("connected", "09:06:44.480", 10))

    # A line is cut off on its way: nothing can be made of it, so it is kept for a person.
    cut = json.dumps(_call(ABANDONED_CALL, "customer.start", "09:07:30.001", customer))[:211]
    story.lines.append(StoryLine(cut, "a line cut off", "PARKED", False))

    # Another customer calls and gives up. Leaving and hanging up are one millisecond.
    gone = {**queue, "acdOutcome": "ABANDON", "disconnectType": "PEER"}
    hung_up = {"disconnectType": "PEER"}
    arrives, waits = "second call: customer arrives", "second call: enters the queue"
    leaves, hangs_up = "second call: leaves the queue", "second call: customer hangs up"
    happens(_call(ABANDONED_CALL, "customer.start", "09:07:31.512", customer), arrives)
    happens(_call(ABANDONED_CALL, "acd.start", "09:07:33.009", acd, **queue), waits)
    again(_call(ABANDONED_CALL, "customer.start", "09:07:31.512", customer, delivery="later"))
    happens(_call(ABANDONED_CALL, "acd.end", "09:09:02.346", acd, **gone), leaves)
    happens(_call(ABANDONED_CALL, "customer.end", "09:09:02.346", customer, **hung_up), hangs_up)
    again(_call(ABANDONED_CALL, "acd.end", "09:09:02.346", acd, **gone))
    again(_call(ABANDONED_CALL, "customer.end", "09:09:02.346", customer, **second, **hung_up))

    # The first call ends. Genesys promises no order: the agent's end comes after the wrap-up work.
    bye = {"disconnectType": "PEER"}
    done = {**agent, "wrapupCode": "SALE", "wrapupDurationMs": 21640}
    happens(_call(CALL, "customer.end", "09:11:20.118", customer, **bye), "call: customer leaves")
    happens(_call(CALL, "acw", "09:11:42.230", "agent", **done), "call: work after it is done")
    happens(_call(CALL, "user.end", "09:11:20.590", "agent", **agent, **bye), "call: agent leaves")
    again(_call(CALL, "customer.end", "09:11:20.118", customer, **bye))
    wrapup = {**queue, "wrapupCode": "SALE"}
    happens(_call(CALL, "wrapup", "09:11:42.236", "agent", **wrapup), "call: wrapped up as a sale")
    again(_call(CALL, "acw", "09:11:42.230", "agent", delivery="republished", **done))
    happens(_routing(FIRST_AGENT, "IDLE", "09:11:42.301"), "first agent idle again", True)

    # The chat ends. The first agent takes a break, then a meal; we hear of them in reverse.
    happens(_chat("disconnected", "09:14:03.900", 11), "chat: disconnected", True)
    again(_chat("disconnected", "09:14:04.350", 12))
    happens(_chat("wrapup", "09:14:30.015", 13), "chat: wrapped up")
    happens(_presence(FIRST_AGENT, "MEAL", "09:20:04.660"), "first agent at a meal", True)
    late = "first agent on a break, told too late"
    tell(_presence(FIRST_AGENT, "BREAK", "09:20:01.025"), late, "STALE", True)
    again(_presence(FIRST_AGENT, "MEAL", "09:20:04.660", delivery="republished"))
    happens(_routing(FIRST_AGENT, "OFF_QUEUE", "09:20:04.702"), "first agent off queue")
    happens(_presence(FIRST_AGENT, "OFFLINE", "09:52:18.377"), "first agent offline")
    return story


def files() -> dict[str, str]:
    """Name and content of each file of the example."""
    story = morning()
    expected = [
        {"line": number, "happening": entry.happening, "outcome": entry.outcome}
        | ({"overtakable": True} if entry.overtakable else {})
        for number, entry in enumerate(story.lines, 1)
    ]
    destination = {
        "rules": [
            {
                "match": {"family": "conversation.user.start", "conversationId": CALL},
                "replies": [
                    {"status": 429, "retryAfter": 1},
                    500,
                ],
            }
        ]
    }
    lines = ",\n".join(f"  {json.dumps(entry)}" for entry in expected)
    return {
        "story.jsonl": "".join(f"{entry.text}\n" for entry in story.lines),
        "story.expected.json": f"[\n{lines}\n]\n",
        "story.destination.json": json.dumps(destination, indent=2) + "\n",
    }


if __name__ == "__main__":
    for name, content in files().items():
        (FOLDER / name).write_text(content)
