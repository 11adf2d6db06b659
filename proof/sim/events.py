"""Events, the messages that carry them, and the elements that the enrichment makes of messages."""

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple

from once_enrichment.handler import normalise
from once_enrichment.routes import Routes, parse_routes

from proof.asl.jsonata import iso

START_MS = 1_760_000_000_000
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
# Two clocks of Genesys may differ by as much: within it no state is surely older.
UNSURE_MS = 500

Order = Literal["none", "latest", "changes", "every"]
Temper = Literal["well", "fails", "rejected", "uncertain", "crashes", "broken"]


@dataclass(frozen=True)
class Event:
    """Something that happened. Messages with the same event are its copies."""

    name: str
    at_ms: int = START_MS
    state: str = "on"
    subject: str = "s1"
    order: Order = "none"
    window_ms: int = 0
    # Two states with the same facts and another noise are no change.
    noise: str = ""
    temper: Temper = "well"
    wanted: bool = True
    expires_ms: int | None = None
    event_id: str = ""
    # Copies of an event with a window may differ in time.
    name_of_copy: str = ""
    # Of an event with a body of Genesys: the keys that the enrichment finds in it.
    body: str = ""
    keys: tuple[tuple[str, str], tuple[str, str]] | None = None

    @property
    def identity(self) -> str:
        return self.name_of_copy or self.name

    @property
    def is_ordered(self) -> bool:
        return self.order in ("latest", "changes")

    @property
    def span_ms(self) -> int:
        """States closer than this are not surely older."""
        return UNSURE_MS if self.order == "changes" else self.window_ms

    @property
    def row(self) -> tuple[str, str]:
        """The key of the row that holds the newest state of its subject."""
        if self.keys:
            return self.keys[1]
        return f"org/user/{self.subject}", f"latest/family/{self.subject}"

    @property
    def key(self) -> tuple[str, str]:
        if self.keys:
            return self.keys[0]
        if self.order == "changes":
            told = f"{self.state}/{self.noise}"
        elif self.window_ms:
            told = self.state
        elif self.order == "every":
            told = f"{self.state}/{self.noise}/{self.at_ms}"
        else:
            told = f"{self.identity}/{self.state}"
        return f"org/user/{self.subject}", f"v2/family/{told}"


class Message(NamedTuple):
    """A message of a queue. Only promises read which event it carries."""

    id: str
    event: str
    body: str
    sent_ms: int
    visible_ms: int
    receives: int = 0
    # The execution that sent it; empty for a message that came from outside.
    sender: str = ""


def record(message: Message) -> dict[str, Any]:
    """Returns a message as the pipe hands it to the enrichment."""
    return {
        "messageId": message.id,
        "receiptHandle": "r",
        "body": message.body,
        "attributes": {
            "SentTimestamp": str(message.sent_ms),
            "ApproximateReceiveCount": str(max(1, message.receives)),
        },
        "messageAttributes": {},
        "eventSource": "aws:sqs",
    }


def routes_of(event: Event) -> Routes:
    """Returns the routes that make the enrichment want an event as the event says."""
    return _routes(event.order == "every", event.wanted)


@cache
def _routes(every: bool, wanted: bool) -> Routes:
    lines = ["[[routes]]", 'name = "route"', 'family = "*"']
    lines.append('action = "send"' if wanted else 'action = "none"')
    if every:
        lines.append('order = "every"')
    return parse_routes("routes.toml", "\n".join(lines))


def unwrapped(body: str) -> tuple[dict[str, Any], str]:
    """Returns what is remembered of a message that the machine sent, and the message as it came."""
    try:
        value = json.loads(body)
    except ValueError:
        return {}, body
    if isinstance(value, dict) and set(value) == {"once", "event"}:
        return value["once"], value["event"]
    return {}, body


def body_of(event: Event) -> str:
    if event.body:
        return event.body
    if event.temper == "broken":
        return f"{event.name}, which is no JSON"
    return own_envelope(event.name, event.at_ms, {"conversationId": event.identity})


def own_envelope(event_id: str, at_ms: int, detail: dict[str, Any]) -> str:
    """Returns an event of one's own, in EventBridge's envelope."""
    envelope = {
        "version": "0",
        "id": event_id,
        "detail-type": "Conversation Status Change",
        "source": "my.app",
        "time": f"{iso(at_ms)[:19]}Z",
        "account": "1",
        "region": "eu-central-1",
        "resources": [],
        "detail": {**detail, "timestamp": iso(at_ms)},
    }
    return json.dumps(envelope)


def element(event: Event, message: Message) -> dict[str, Any]:
    """Returns what the deployed enrichment hands over. An event without a body of Genesys has a
    key, order and time of its own."""
    made: dict[str, Any] = dict(normalise(record(message), routes_of(event)))
    if event.body or event.temper == "broken":
        return made
    pk, sk = event.key
    made["occurredAtMs"] = event.at_ms
    made["key"] = {"pk": pk, "sk": sk}
    made["keyHash"] = hashlib.sha256(f"{pk} {sk}".encode()).hexdigest()
    made["policy"] = {"windowMs": event.window_ms, "order": event.order}
    made["trace"] = {"source": "my.app", "eventId": event.event_id}
    if event.order != "none":
        made["policy"]["latest"] = event.row[1]
    if event.order == "changes":
        made["facts"] = f"route/{event.state}"
    if event.expires_ms is not None:
        made["expiresAtMs"] = event.expires_ms
    return made
