"""The approaches that people use, each as the few lines that its users write.

A handler yields its requests: `Get`, `Put` and `Delete` to the store that all its environments
share, `Act` to the destination. A failed act is thrown into it. Who chooses a key gets the best
that the event has: its topic and its body, which copies share.
"""

import json
import re
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from bench.events import Event

Row = dict[str, Any]
MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
FIFO_MS = 5 * MINUTE_MS  # so long SQS and the event bus remember a deduplication id
TIMEOUT_MS = 20_000  # of the function, after which Powertools takes a claim for abandoned


class Get(NamedTuple):
    key: str


class Put(NamedTuple):
    """Succeeds if the row as it is meets the condition."""

    key: str
    row: Row
    condition: Callable[[Row | None], bool] = lambda _: True
    ttl_ms: int = 365 * DAY_MS


class Delete(NamedTuple):
    key: str


class Act(NamedTuple):
    idempotency_key: str


class ActError(Exception):
    """The destination did not answer with success."""


@dataclass
class Environment:
    """Lives from one event to the next, until the worker dies."""

    now_ms: Callable[[], int]
    memory: dict[str, Any] = field(default_factory=dict)


Steps = Generator[Get | Put | Delete | Act, Any, None]
Handler = Callable[[Event, Environment], Steps]


class Rival(NamedTuple):
    """`name` is the deduplication id that the queue or the service remembers for `remembers_ms`;
    messages of a `group` are delivered one after the other."""

    letter: str
    title: str
    handle: Handler
    name: Callable[[Event], str] | None = None
    remembers_ms: int = 0
    group: Callable[[Event], str] | None = None


def entity(event: Event) -> str:
    """Returns the id of the conversation, user or queue that an event is about."""
    body, topic = event["detail"]["eventBody"], event["detail"]["topicName"]
    return str(
        body.get("conversationId") or body.get("id") or re.findall(r"[0-9a-f-]{36}", topic)[0]
    )


def state(event: Event) -> str:
    """Returns the state of the entity that the event names."""
    body = event["detail"]["eventBody"]
    presence = body.get("presenceDefinition", {}).get("systemPresence")
    return f"{event['detail-type']}:{presence or body.get('routingStatus') or body.get('joined')}"


def happened_ms(event: Event) -> int:
    """Returns the time of the event itself, else when it was published."""
    body = event["detail"]["eventBody"]
    if "eventTime" in body:
        return int(body["eventTime"])
    stamp = body.get("modifiedDate") or event["detail"]["timestamp"]
    return round(datetime.fromisoformat(stamp).timestamp() * 1000)


def content_key(event: Event) -> str:
    """Returns the topic and the body, which copies share, whoever sends them."""
    return json.dumps([event["detail"]["topicName"], event["detail"]["eventBody"]], sort_keys=True)


def is_absent(row: Row | None) -> bool:
    return row is None


def redis_get_setex(event: Event, _: Environment) -> Steps:
    """Reads first, as forum posts about Genesys events do. The key has the state as well, which
    they leave out."""
    key = f"call:{entity(event)}:{state(event)}"
    if (yield Get(key)) is None:
        yield Put(key, {}, ttl_ms=10_000)
        yield Act(key)


def redis_set_nx(event: Event, _: Environment) -> Steps:
    """The usual answer to that race. A claim without an owner stays if its owner dies."""
    if (yield Put(event["id"], {}, is_absent, ttl_ms=DAY_MS)):
        yield Act(event["id"])


def check_then_write(event: Event, _: Environment) -> Steps:
    if (yield Get(event["id"])) is None:
        yield Put(event["id"], {})
        yield Act(event["id"])


def newer_updated_at(event: Event, _: Environment) -> Steps:
    """The habit of those who keep the latest state: an event that is not newer is a copy."""
    key, at_ms = entity(event), happened_ms(event)
    if (yield Put(key, {"at": at_ms}, lambda row: row is None or row["at"] < at_ms)):
        yield Act(f"{key}:{at_ms}")


def hash_for_500_ms(event: Event, environment: Environment) -> Steps:
    """The habit of those who saw the copies arrive within milliseconds."""
    key, now_ms = f"{entity(event)}:{state(event)}", environment.now_ms()
    if (yield Put(key, {"at": now_ms}, lambda row: row is None or row["at"] < now_ms - 500)):
        yield Act(key)


def in_memory(event: Event, environment: Environment) -> Steps:
    """The habit of a single server: on Lambda each environment remembers for itself."""
    seen, newest = environment.memory.setdefault("", (set(), {}))
    at_ms = happened_ms(event)
    if event["id"] in seen or at_ms <= newest.get(entity(event), 0):
        return
    yield Act(event["id"])
    seen.add(event["id"])
    newest[entity(event)] = at_ms


def powertools(event: Event, environment: Environment) -> Steps:
    """Idempotency of Powertools for AWS Lambda 3.37: the conditions, the deletion after an error
    and the defaults are those of its DynamoDB layer."""
    key, now_ms = content_key(event), environment.now_ms()

    def is_free(row: Row | None) -> bool:
        return row is None or (row["status"] == "INPROGRESS" and row["until"] < now_ms)

    claim = {"status": "INPROGRESS", "until": now_ms + TIMEOUT_MS}
    if not (yield Put(key, claim, is_free, ttl_ms=HOUR_MS)):
        row = yield Get(key)
        if row and row["status"] == "INPROGRESS":
            raise ActError("in progress: SQS delivers the message again")
        return
    try:
        yield Act(key)
    except ActError:
        yield Delete(key)
        raise
    yield Put(key, {"status": "COMPLETED"}, ttl_ms=HOUR_MS)


def put_if_absent(event: Event, _: Environment) -> Steps:
    """The textbook's claim: it says who was first, not if they came through."""
    if (yield Put(content_key(event), {}, is_absent)):
        yield Act(content_key(event))


def only_act(event: Event, _: Environment) -> Steps:
    yield Act(content_key(event))


RIVALS = (
    Rival("a", "Redis GET, then SETEX 10 s", redis_get_setex),
    Rival("b", "Redis SET NX EX, event id", redis_set_nx),
    Rival("c", "DynamoDB: if exists, write, event id", check_then_write),
    Rival("d", "DynamoDB: newer `updated_at` per conversation", newer_updated_at),
    Rival("e", "hash of conversation and state, 500 ms", hash_for_500_ms),
    Rival("f", "event id and timestamp, in memory", in_memory),
    Rival("g", "Powertools idempotency, content", powertools),
    Rival("h", "put with `attribute_not_exists`, content", put_if_absent),
    # A rule of the classic bus can name one group, and pick topic and body as the message.
    Rival("i", "rule into SQS FIFO, content", only_act, content_key, FIFO_MS, lambda _: "all"),
    Rival("j", "V2 event bus into SQS FIFO, content", only_act, content_key, FIFO_MS, entity),
    # The service starts a function again that died, and keeps the name of a closed execution.
    Rival("k", "V2 event bus into a durable function", only_act, content_key, 90 * DAY_MS),
)
OURS = ("l", "genesys-once")
