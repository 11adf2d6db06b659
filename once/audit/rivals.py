"""The ways people skip copies, as rules over what they remember: no store, no clock, no races.

bench/compare runs the same rules on real stores, side by side with this project.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import IntEnum
from math import inf
from typing import Any, NamedTuple

from once.audit.verdict import Store

REDIS_SECONDS = 10
REDIS_ID_SECONDS = 86_400
WINDOW_MS = 500
POWERTOOLS_SECONDS = 3_600  # IdempotencyConfig's default
FIFO_SECONDS = 300

# Between the look and the note of it, other workers see nothing.
_LOOK_MS = 50
_NEVER_SHARED = inf

Event = Mapping[str, Any]
Cell = int | None


def fingerprint(topic: str, body: Any) -> str:
    """A hash of what an event says, whoever tells it."""
    content = json.dumps([topic, body], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


# How people read Genesys events: the entity, its state, when it was.


def detail(event: Event) -> Event:
    """The part with topic and body; the event itself where nothing is around it."""
    inner = event.get("detail")
    return inner if isinstance(inner, dict) else event


def body(event: Event) -> Event:
    inner = detail(event).get("eventBody")
    return inner if isinstance(inner, dict) else detail(event)


def topic(event: Event) -> str:
    return str(detail(event).get("topicName") or event.get("detail-type") or "")


def entity(event: Event) -> str:
    """The conversation, or the user, that an event is about; empty where nothing says so."""
    said = body(event)
    found = said.get("conversationId") or said.get("id")
    if not found:
        words = topic(event).split(".")
        found = words[2] if len(words) > 2 else said.get("conversation_id") or said.get("userId")
    return str(found or "")


def state(event: Event) -> str:
    """What it says of the entity."""
    said = body(event)
    presence = _inner(said, "presenceDefinition", "systemPresence")
    status = _inner(said, "routingStatus", "status") or said.get("status", said.get("state", ""))
    return f"{event.get('detail-type', '')}:{presence}{status}{said.get('joined', '')}"


def _inner(said: Event, name: str, field: str) -> Any:
    inner = said.get(name)
    return inner.get(field, "") if isinstance(inner, dict) else ""


def happened_ms(event: Event) -> int | None:
    """The time of the event itself, else when it was published, where that is said."""
    said = body(event)
    stamp = said.get("eventTime") or said.get("modifiedDate") or detail(event).get("timestamp")
    try:
        if isinstance(stamp, str):
            return round(datetime.fromisoformat(stamp).timestamp() * 1000)
        return None if stamp is None else int(stamp)
    except (TypeError, ValueError, OverflowError):
        return None


def content_key(event: Event) -> str:
    """A hash of the topic and the body, which copies share."""
    return fingerprint(topic(event), body(event))


class Read(NamedTuple):
    """An event as these rules see it. Each text says what it is, so that none equals another."""

    envelope: Any
    """None where the event has no envelope around it, or one without an id."""
    entity: Any
    state: Any
    content: Any
    happened_ms: int | None

    @classmethod
    def of(cls, event: Event) -> "Read":
        about = entity(event)
        envelope_id = event.get("id") if "detail" in event else None
        return cls(
            f"envelope {envelope_id}" if envelope_id else None,
            f"entity {about}" if about else None,
            f"state {about}:{state(event)}" if about else None,
            f"content {content_key(event)}",
            happened_ms(event),
        )


class Answer(IntEnum):
    ACTS = 0
    SKIPS = 1
    MAY_ACT = 2
    """Skips, but another worker would not know yet what this one remembers."""
    CANNOT_READ = 3
    """The event lacks what the rule reads: the handler fails, and the event is never done."""


Step = Callable[[Sequence[Cell], int, int], Sequence[Cell] | None]
"""From what is remembered, now and the event's time: what to remember, or None to skip."""


@dataclass(frozen=True)
class Rule:
    letter: str
    title: str
    reads: tuple[str, ...]
    """The parts of `Read` under which it remembers something."""
    step: Step
    needs_time: bool = False
    unseen_ms: float = 0
    """For how long after an act another worker knows nothing of it."""


def _for(milliseconds: float) -> Step:
    """Skips what is remembered, which it is for so long after the act."""

    def step(seen: Sequence[Cell], now_ms: int, _: int) -> Sequence[Cell] | None:
        (at,) = seen
        return (now_ms,) if at is None or now_ms >= at + milliseconds else None

    return step


def _newer(seen: Sequence[Cell], _: int, happened: int) -> Sequence[Cell] | None:
    (newest,) = seen
    return (happened,) if newest is None or newest < happened else None


def _first_and_newer(seen: Sequence[Cell], now_ms: int, happened: int) -> Sequence[Cell] | None:
    known, newest = seen
    return (now_ms, happened) if known is None and happened > (newest or 0) else None


RULES = (
    Rule(
        "a",
        f"Redis GET, then SETEX {REDIS_SECONDS} s, on conversation and state",
        ("state",),
        _for(REDIS_SECONDS * 1000),
        unseen_ms=_LOOK_MS,
    ),
    Rule(
        "b",
        "Redis SET NX EX, on the envelope's id, for a day",
        ("envelope",),
        _for(REDIS_ID_SECONDS * 1000),
    ),
    Rule(
        "c",
        "DynamoDB: if exists, else write, on the envelope's id",
        ("envelope",),
        _for(inf),
        unseen_ms=_LOOK_MS,
    ),
    Rule(
        "d",
        "DynamoDB: only a newer time per conversation",
        ("entity",),
        _newer,
        needs_time=True,
    ),
    Rule(
        "e",
        f"hash of conversation and state, {WINDOW_MS} ms",
        ("state",),
        _for(WINDOW_MS + 1),  # acts again when it was seen before now - 500
    ),
    Rule(
        "f",
        "envelope's id and newest time, in the memory of the process",
        ("envelope", "entity"),
        _first_and_newer,
        unseen_ms=_NEVER_SHARED,
    ),
    Rule(
        "g",
        "Powertools idempotency, on topic and body, for an hour",
        ("content",),
        _for(POWERTOOLS_SECONDS * 1000),
    ),
    Rule("h", "put with attribute_not_exists, on topic and body", ("content",), _for(inf)),
    Rule(
        "i",
        "SQS FIFO, deduplication by content, five minutes",
        ("content",),
        _for(FIFO_SECONDS * 1000),
    ),
)


def with_fifo_of(seconds: int) -> tuple[Rule, ...]:
    """The rules, with a FIFO queue of another memory."""
    return tuple(
        replace(rule, step=_for(seconds * 1000)) if rule.letter == "i" else rule for rule in RULES
    )


class Rivals:
    """All rules on one stream. `memory` holds a few cells under each part that an event was read
    into.
    """

    def __init__(self, memory: Store[list[Cell]], rules: Sequence[Rule] = RULES) -> None:
        self._memory = memory
        self._rules = [
            (rule, [(Read._fields.index(name), _slot(rules, rule, name)) for name in rule.reads])
            for rule in rules
        ]

    def settle(self, read: Read, now_ms: int) -> tuple[Answer, ...]:
        """What each rule does about the next event, in the order of the rules."""
        return tuple(self._one(rule, cells, read, now_ms) for rule, cells in self._rules)

    def _one(self, rule: Rule, cells: Sequence[tuple[int, int]], read: Read, now_ms: int) -> Answer:
        rows = []
        for part, _ in cells:
            key = read[part]
            if key is None:
                return Answer.CANNOT_READ
            row = self._memory.get(key)
            if row is None:
                row = self._memory[key] = [None] * CELLS
            rows.append(row)
        if rule.needs_time and read.happened_ms is None:
            return Answer.CANNOT_READ
        seen = [row[slot] for row, (_, slot) in zip(rows, cells, strict=True)]
        then = rule.step(seen, now_ms, read.happened_ms or 0)
        if then is None:
            unseen = rule.unseen_ms > 0 and now_ms <= (seen[0] or 0) + rule.unseen_ms
            return Answer.MAY_ACT if unseen else Answer.SKIPS
        for row, (_, slot), value in zip(rows, cells, then, strict=True):
            row[slot] = value
        return Answer.ACTS


CELLS = 3


def _slot(rules: Sequence[Rule], rule: Rule, part: str) -> int:
    """The cell of a rule among those that remember something under the same part."""
    return [other.letter for other in rules if part in other.reads].index(rule.letter)
