"""Makes the small streams that every contestant gets, each with one kind of trouble, from a seed.

A happening is one real thing that happened; it must be acted on once. Several messages may tell of
it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from bench.events import START_MS, Centre, Event, text

LATE_MS = 360_000

# Faults of the way to the destination, each striking its happening once.
TWICE_AT_ONCE = "twice-at-once"
AGAIN_LATER = "again-later"
DIES_BEFORE_ACT = "dies-before-act"
DIES_AFTER_ACT = "dies-after-act"
RESPONSE_LOST = "response-lost"


@dataclass(frozen=True)
class Happening:
    """`latest_by` is what the newest state replaces, where only that counts."""

    stream: str
    number: int
    at_ms: int
    latest_by: str | None = None
    replies: tuple[str, ...] = ()  # of the destination, before it acts: fail or lose
    is_rejected: bool = False  # then it must be kept for a person
    fault: str | None = None

    @property
    def name(self) -> str:
        return f"{self.stream}/{self.number}"


@dataclass(frozen=True)
class Message:
    event: Event
    happening: Happening
    send_ms: int  # after the stream began

    @property
    def body(self) -> str:
        return text(self.event)


@dataclass
class Stream:
    name: str
    what: str
    messages: list[Message] = field(default_factory=list)

    @property
    def happenings(self) -> list[Happening]:
        return list(dict.fromkeys(message.happening for message in self.messages))

    def happens(self, event: Event, at_ms: int, send_ms: int, **about: Any) -> Happening:
        happening = Happening(self.name, len(self.happenings), at_ms, **about)
        self.messages.append(Message(event, happening, send_ms))
        return happening

    def tells_again(self, happening: Happening, event: Event, send_ms: int) -> None:
        self.messages.append(Message(event, happening, send_ms))


def streams(seed: int) -> list[Stream]:
    centre, random = Centre(seed), Random(seed)  # noqa: S311 - to be repeated, not to be guessed
    found = []
    for name, what, fill in _FILLED:
        found.append(Stream(name, what))
        fill(found[-1], centre, random)
    for name, what, step, count, about in _SINGLY:
        found.append(stream := Stream(name, what))
        for number, at in _moments(count):
            stream.happens(centre.conversation(step, at), at, number * 30, **about(number))
    return found


def _moments(count: int, step_ms: int = 37) -> Iterator[tuple[int, int]]:
    """Yields numbers with a time for each."""
    return enumerate(range(START_MS + step_ms, START_MS + (count + 1) * step_ms, step_ms))


def _copies(stream: Stream, centre: Centre, random: Random) -> None:
    for number, at in _moments(30):
        event = centre.conversation("customer.start", at)
        happening = stream.happens(event, at, number * 30)
        for _ in range(random.choice((1, 1, 2))):
            stream.tells_again(happening, event, number * 30 + random.randrange(10))


def _other_ids(stream: Stream, centre: Centre, random: Random) -> None:
    for number, at in _moments(30):
        event = centre.conversation("acd.end", at)
        happening = stream.happens(event, at, number * 30)
        integration = "events" if number % 2 else "second"
        again = centre.published_again(event, random.randrange(90), integration)
        stream.tells_again(happening, again, number * 30 + random.randrange(200))


def _same_millisecond(stream: Stream, centre: Centre, random: Random) -> None:
    for number, at in _moments(20):
        conversation = centre.id()
        for suffix in ("user.end", "acd.end"):
            event = centre.conversation(suffix, at, conversation)
            happening = stream.happens(event, at, number * 30)
            if random.random() < 0.5:
                stream.tells_again(happening, centre.published_again(event), number * 30 + 20)


def _state_again(stream: Stream, centre: Centre, _: Random) -> None:
    for number, at in _moments(10):
        conversation, user = centre.id(), centre.id()
        for turn in range(2):
            then, send_ms = at + turn * 3_000, number * 30 + turn * 3_000
            stream.happens(centre.conversation("acd.start", then, conversation), then, send_ms)
        for turn, joined in enumerate((True, False, True)):
            then, send_ms = at + turn * 3_000, number * 30 + turn * 3_000
            stream.happens(centre.membership(user, joined, then), then, send_ms, latest_by=user)


def _late(stream: Stream, centre: Centre, random: Random) -> None:
    for number, at in _moments(20):
        event = centre.conversation("customer.end", at)
        happening = stream.happens(event, at, number * 30)
        again = centre.published_again(event, LATE_MS) if random.random() < 0.5 else event
        stream.tells_again(happening, again, number * 30 + LATE_MS)


def _out_of_order(stream: Stream, centre: Centre, random: Random) -> None:
    for number, at in _moments(14, 10_000):
        user = centre.id()
        states = [(at + turn * 2_000, s) for turn, s in enumerate(("AVAILABLE", "BUSY", "AWAY"))]
        random.shuffle(states)
        for turn, (then, state) in enumerate(states):
            event = centre.presence(user, state, then)
            stream.happens(event, then, number * 30 + turn * 700, latest_by=user)
        conversation, session = centre.id(), centre.id()
        for turn, suffix in enumerate(("customer.end", "customer.start")):
            then = at + 5_000 * (1 - turn)
            event = centre.conversation(suffix, then, conversation, sessionId=session)
            stream.happens(event, then, number * 30 + turn * 700)


def _there_and_back(stream: Stream, centre: Centre, _: Random) -> None:
    for number, at in _moments(12, 10_000):
        user = centre.id()
        for turn, joined in enumerate((True, False, True)):
            then = at + turn * 200
            event = centre.membership(user, joined, then)
            stream.happens(event, then, number * 30 + turn * 200, latest_by=user)


def _state_returns(stream: Stream, centre: Centre, random: Random) -> None:
    for number in range(8):
        user, conversation, queue = centre.id(), centre.id(), centre.id()
        for turn, is_back in enumerate((True, False, True)):
            at = START_MS + number * 37 + turn * LATE_MS
            verified = {"attributes": {"verified": str(is_back)}}
            states = {
                conversation: centre.snapshot(user, conversation, at, **verified),
                user: centre.adherence(user, "IDLE" if is_back else "INTERACTING", at),
                queue: centre.counters(queue, 1 if is_back else 2, at),
            }
            for latest_by, event in states.items():
                _copied(stream, centre, random, event, at, number * 30 + turn * LATE_MS, latest_by)


def _undeclared_field(stream: Stream, centre: Centre, random: Random) -> None:
    for number, at in _moments(12, 10_000):
        user, conversation = centre.id(), centre.id()
        changes: tuple[dict[str, Any], ...] = ({}, {"sentiment": 1}, {"wrapup": {"notes": "x"}})
        for turn, change in enumerate(changes):
            then, send_ms = at + turn * 2_000, number * 30 + turn * 2_000
            event = centre.snapshot(user, conversation, then, **change)
            _copied(stream, centre, random, event, then, send_ms, conversation)


def _copied(
    stream: Stream,
    centre: Centre,
    random: Random,
    event: Event,
    at_ms: int,
    send_ms: int,
    latest_by: str,
) -> None:
    happening = stream.happens(event, at_ms, send_ms, latest_by=latest_by)
    again = centre.published_again(event, random.randrange(90))
    stream.tells_again(happening, again, send_ms + random.randrange(200))


def _burst(stream: Stream, centre: Centre, random: Random) -> None:
    for _, at in _moments(100):
        conversation = centre.id()
        for turn, suffix in enumerate(("customer.start", "acd.start", "acd.end")):
            then = at + turn * 5_000
            event = centre.conversation(suffix, then, conversation)
            happening = stream.happens(event, then, 0)
            if random.random() < 0.2:
                stream.tells_again(happening, centre.published_again(event), 0)


_FILLED: tuple[tuple[str, str, Callable[[Stream, Centre, Random], None]], ...] = (
    ("copies", "the same envelope two or three times within milliseconds", _copies),
    ("other ids", "published again, or by a second integration, under other ids", _other_ids),
    ("same millisecond", "two states of a conversation in one millisecond, copied",
     _same_millisecond),
    ("same state again", "an agent rejoins a queue, a call is routed again", _state_again),
    ("late copies", "a copy six minutes later", _late),
    ("out of order", "older states after newer ones, an end before its start", _out_of_order),
    ("there and back", "a state without a time leaves and returns within 400 ms", _there_and_back),
    ("a state returns", "snapshots, adherence and counters change and change back in minutes",
     _state_returns),
    ("undeclared field", "a state changes in a field that is not declared", _undeclared_field),
    ("burst", "300 events of 100 conversations at the same time, a fifth of them copied", _burst),
)  # fmt: skip


def _redelivered(number: int) -> dict[str, Any]:
    return {"fault": AGAIN_LATER if number % 2 else TWICE_AT_ONCE}


def _dying(number: int) -> dict[str, Any]:
    return {"fault": DIES_BEFORE_ACT} if number % 4 else {}


def _failing(number: int) -> dict[str, Any]:
    if number % 8 == 0:
        return {"is_rejected": True}
    return {"replies": ("fail", "fail")} if number % 4 == 1 else {}


def _forgetting(number: int) -> dict[str, Any]:
    return {} if number % 3 else {"fault": RESPONSE_LOST}


def _unheard(number: int) -> dict[str, Any]:
    if number % 4 == 0:
        return {"replies": ("lose",)}
    return {"fault": DIES_AFTER_ACT} if number % 4 == 1 else {}


_SINGLY: tuple[tuple[str, str, str, int, Callable[[int], dict[str, Any]]], ...] = (
    ("redelivery", "SQS delivers the same message twice, immediately or later",
     "user.start", 24, _redelivered),
    ("crashes", "the worker dies after it received an event, before it acts",
     "acd.start", 24, _dying),
    ("failing action", "the destination is down twice, or permanently rejects an event",
     "user.end", 24, _failing),
    ("store's response lost", "a write succeeds, its response is lost, and the client repeats it",
     "customer.start", 20, _forgetting),
    ("act's response lost", "the destination acted, and its response or its sender is lost",
     "user.start", 24, _unheard),
)  # fmt: skip
