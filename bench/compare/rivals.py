"""The ways in which people act once on each event, as their authors would write them.

Each is a generator of its requests to a store and to the destination, so that the simulation can
let time pass between them, lose a response, or let the worker die.
"""

import hashlib
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any

from bench.compare.reading import content_key, entity, happened_ms, state

DAY_MS = 86_400_000
# Given to SQS FIFO in place of five minutes, as copies come after 20 s in place of six minutes.
FIFO_MS = 10_000

Event = Mapping[str, Any]


class ActionError(Exception):
    """The destination did not respond with success."""


class Store:
    """Keys with a value and an end: Redis, or a table of DynamoDB."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[Any, float]] = {}

    def get(self, key: str, now_ms: int) -> Any:
        value, ends_ms = self._rows.get(key, (None, 0))
        return value if now_ms < ends_ms else None

    def set(self, key: str, value: Any, now_ms: int, lasts_ms: float = 30 * DAY_MS) -> bool:
        self._rows[key] = (value, now_ms + lasts_ms)
        return True

    def add(self, key: str, now_ms: int, lasts_ms: float = 30 * DAY_MS) -> bool:
        """Writes if there is nothing, and says if it did."""
        return self.get(key, now_ms) is None and self.set(key, "1", now_ms, lasts_ms)

    def delete(self, key: str) -> None:
        self._rows.pop(key, None)


Ask = Callable[[Store, int], Any]  # one request to the store, at that time


@dataclass(frozen=True)
class Act:
    """A request to the destination, with this Idempotency-Key."""

    key: str


Steps = Generator[Ask | Act, Any, None]
# The memory is that of one environment of the function.
Handle = Callable[[Event, dict[str, Any]], Steps]


def redis_get_setex(event: Event, _: dict[str, Any]) -> Steps:
    """Reads first, then writes a key for ten seconds, as forum posts about Genesys events do."""
    key = f"call:{entity(event)}:{state(event)}"
    if (yield lambda store, now: store.get(key, now)):
        return
    yield lambda store, now: store.set(key, "1", now, 10_000)
    yield Act(key)


def redis_set_nx(event: Event, _: dict[str, Any]) -> Steps:
    """SET NX EX on the envelope's id. A claim without an owner stays when its owner dies."""
    key = f"dedup:{event['id']}"
    if (yield lambda store, now: store.add(key, now, DAY_MS)):
        yield Act(key)


def check_then_write(event: Event, _: dict[str, Any]) -> Steps:
    """`if exists` on the event's id, a write, then the work: the handler that comes first."""
    key = str(event["id"])
    if (yield lambda store, now: store.get(key, now)):
        return
    yield lambda store, now: store.set(key, "1", now)
    yield Act(key)


def updated_at(event: Event, _: dict[str, Any]) -> Steps:
    """One row a conversation that only a newer `updated_at` may change."""
    moment, row = happened_ms(event) or 0, entity(event)

    def write(store: Store, now_ms: int) -> bool:
        return moment > (store.get(row, now_ms) or 0) and store.set(row, moment, now_ms)

    if (yield write):
        yield Act(f"{row}:{moment}")


def window_hash(event: Event, _: dict[str, Any]) -> Steps:
    """A hash of conversation and state, skipped if it was seen within the last 500 ms."""
    key = hashlib.sha256(f"{entity(event)}:{state(event)}".encode()).hexdigest()
    if (yield lambda store, now: store.add(key, now, 500)):
        yield Act(key)


def in_memory(event: Event, memory: dict[str, Any]) -> Steps:
    """The event's id and the entity's last time, in the memory of each environment."""
    seen, newest = memory.setdefault("seen", set()), memory.setdefault("newest", {})
    moment = happened_ms(event) or 0
    if event["id"] in seen or moment <= newest.get(entity(event), 0):
        return
    yield Act(str(event["id"]))
    seen.add(event["id"])
    newest[entity(event)] = moment


def powertools(event: Event, _: dict[str, Any]) -> Steps:
    """Idempotency of Powertools for AWS Lambda, given topic and body: in progress for as long as
    the function may run, completed for an hour, deleted if the work fails."""
    key = content_key(event)

    def begin(store: Store, now_ms: int) -> str:
        status = store.get(key, now_ms)
        if status is None:
            store.set(key, "INPROGRESS", now_ms, 20_000)
        return status or ""

    status = yield begin
    if status == "COMPLETED":
        return
    if status:
        raise ActionError("IdempotencyAlreadyInProgressError")
    try:
        yield Act(key)
    except ActionError:
        yield lambda store, _: store.delete(key)
        raise
    yield lambda store, now: store.set(key, "COMPLETED", now, 3_600_000)


def bare_put(event: Event, _: dict[str, Any]) -> Steps:
    """One put with `attribute_not_exists`, on topic and body. It says who was first, not whether
    that one came through."""
    key = content_key(event)
    if (yield lambda store, now: store.add(key, now)):
        yield Act(key)


def only_act(event: Event, _: dict[str, Any]) -> Steps:
    """The V2 bus gives SQS FIFO a group, the entity, and a deduplication id, topic and body."""
    yield Act(content_key(event))


def durable(event: Event, _: dict[str, Any]) -> Steps:
    """The V2 bus names a durable function by topic and body: a second start of the name is a
    copy. A death resumes it, and its step runs again; it tries three times."""
    key = content_key(event)
    if not (yield lambda store, now: store.add(key, now, 30 * DAY_MS)):
        return
    for is_last in (False, False, True):
        try:
            yield Act(key)
        except ActionError:
            if is_last:
                raise
        else:
            return


@dataclass(frozen=True)
class Rival:
    letter: str
    title: str
    handle: Handle
    is_fifo: bool = False
    is_durable: bool = False


RIVALS = (
    Rival("a", "Redis GET, then SETEX 10 s", redis_get_setex),
    Rival("b", "Redis SET NX EX, event id", redis_set_nx),
    Rival("c", "DynamoDB: if exists, write, event id", check_then_write),
    Rival("d", "DynamoDB: newer `updated_at` per conversation", updated_at),
    Rival("e", "hash of conversation and state, 500 ms", window_hash),
    Rival("f", "event id and timestamp, in memory", in_memory),
    Rival("g", "Powertools idempotency", powertools),
    Rival("h", "put with `attribute_not_exists`, content", bare_put),
    Rival("i", "V2 event bus, SQS FIFO with group and deduplication id", only_act, is_fifo=True),
    Rival("j", "V2 event bus, durable function by name", durable, is_durable=True),
)
OURS = ("k", "genesys-once")
