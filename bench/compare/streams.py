"""Makes the small streams that every contestant gets, each with one kind of trouble, from a seed.

A happening is one real thing that happened; it must be acted on once. Several messages may tell of
it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Any

from bench.events import START_MS, Centre, Event

LATE_MS = 360_000


class Fault(Enum):
    """A fault of the way to the destination, or of the destination; each strikes once."""

    TWICE_AT_ONCE = "SQS delivers the message twice at the same time"
    AGAIN_LATER = "SQS delivers the message again after it was deleted"
    DIES_BEFORE_ACT = "the worker dies before it acts"
    DIES_AFTER_ACT = "the worker dies after it acted"
    STORE_UNHEARD = "a write succeeds, and its response is lost"
    ACT_UNHEARD = "the destination acted, and its response is lost"
    DOWN_TWICE = "the destination fails twice"
    REJECTED = "the destination rejects the event each time, so it must be kept for a person"


@dataclass(frozen=True)
class Happening:
    """`latest_by` is what the newest state replaces, where only that counts."""

    stream: str
    number: int
    at_ms: int
    latest_by: str | None = None
    fault: Fault | None = None

    @property
    def name(self) -> str:
        return f"{self.stream}/{self.number}"


@dataclass(frozen=True)
class Message:
    event: Event
    happening: Happening
    send_ms: int  # after the stream began


@dataclass
class Stream:
    name: str
    what: str
    happenings: list[Happening] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    def happens(
        self,
        event: Event,
        at_ms: int,
        send_ms: int,
        copies: Sequence[tuple[Event, int]] = (),
        **about: Any,
    ) -> None:
        """Sends an event, and each copy so many milliseconds after it."""
        happening = Happening(self.name, len(self.happenings), at_ms, **about)
        self.happenings.append(happening)
        for sent, after_ms in ((event, 0), *copies):
            self.messages.append(Message(sent, happening, send_ms + after_ms))


def streams(seed: int) -> list[Stream]:
    centre, random = Centre(seed), Random(seed)  # noqa: S311 - to be repeated, not to be guessed
    made = []
    for name, what, fill in _FILLED:
        made.append(Stream(name, what))
        fill(made[-1], centre, random)
    for name, what, step, count, faults in _FAULTY:
        made.append(stream := Stream(name, what))
        for number, at in _moments(count):
            fault = faults[number % len(faults)]
            stream.happens(centre.conversation(step, at), at, number * 30, fault=fault)
    return made


def _moments(count: int, step_ms: int = 37) -> Iterator[tuple[int, int]]:
    """Yields numbers with a time for each."""
    return enumerate(range(START_MS + step_ms, START_MS + (count + 1) * step_ms, step_ms))


def _copies(stream: Stream, centre: Centre, random: Random) -> None:
    for number, at in _moments(30):
        event = centre.conversation("customer.start", at)
        copies = [(event, random.randrange(10)) for _ in range(random.choice((1, 1, 2)))]
        stream.happens(event, at, number * 30, copies)


def _other_ids(stream: Stream, centre: Centre, random: Random) -> None:
    for number, at in _moments(30):
        event = centre.conversation("acd.end", at)
        integration = "events" if number % 2 else "second"
        again = centre.published_again(event, random.randrange(90), integration)
        stream.happens(event, at, number * 30, [(again, random.randrange(200))])


def _same_millisecond(stream: Stream, centre: Centre, random: Random) -> None:
    for number, at in _moments(20):
        conversation = centre.id()
        for suffix in ("user.end", "acd.end"):
            event = centre.conversation(suffix, at, conversation)
            copies = [(centre.published_again(event), 20)] if random.random() < 0.5 else []
            stream.happens(event, at, number * 30, copies)


def _state_again(stream: Stream, centre: Centre, _: Random) -> None:
    for number, at in _moments(10):
        conversation, user = centre.id(), centre.id()
        for later_ms in (0, 3_000):
            event = centre.conversation("acd.start", at + later_ms, conversation)
            stream.happens(event, at + later_ms, number * 30 + later_ms)
        for later_ms, joined in ((0, True), (3_000, False), (6_000, True)):
            event = centre.membership(user, joined, at + later_ms)
            stream.happens(event, at + later_ms, number * 30 + later_ms, latest_by=user)


def _late(stream: Stream, centre: Centre, random: Random) -> None:
    for number, at in _moments(20):
        event = centre.conversation("customer.end", at)
        again = centre.published_again(event, LATE_MS) if random.random() < 0.5 else event
        stream.happens(event, at, number * 30, [(again, LATE_MS)])


def _out_of_order(stream: Stream, centre: Centre, random: Random) -> None:
    for number, at in _moments(14, 10_000):
        user = centre.id()
        states = [(at, "AVAILABLE"), (at + 2_000, "BUSY"), (at + 4_000, "AWAY")]
        random.shuffle(states)
        for turn, (then, state) in enumerate(states):
            event = centre.presence(user, state, then)
            stream.happens(event, then, number * 30 + turn * 700, latest_by=user)
        conversation, session = centre.id(), centre.id()
        for turn, (then, suffix) in enumerate(
            ((at + 5_000, "customer.end"), (at, "customer.start"))
        ):
            event = centre.conversation(suffix, then, conversation, sessionId=session)
            stream.happens(event, then, number * 30 + turn * 700)


def _there_and_back(stream: Stream, centre: Centre, _: Random) -> None:
    for number, at in _moments(12, 10_000):
        user = centre.id()
        for later_ms, joined in ((0, True), (200, False), (400, True)):
            event = centre.membership(user, joined, at + later_ms)
            stream.happens(event, at + later_ms, number * 30 + later_ms, latest_by=user)


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
                copies = _copy(centre, random, event)
                send_ms = number * 30 + turn * LATE_MS
                stream.happens(event, at, send_ms, copies, latest_by=latest_by)


def _undeclared_field(stream: Stream, centre: Centre, random: Random) -> None:
    changes: tuple[dict[str, Any], ...] = ({}, {"sentiment": 1}, {"wrapup": {"notes": "x"}})
    for number, at in _moments(12, 10_000):
        user, conversation = centre.id(), centre.id()
        for turn, change in enumerate(changes):
            event = centre.snapshot(user, conversation, at + turn * 2_000, **change)
            copies = _copy(centre, random, event)
            send_ms = number * 30 + turn * 2_000
            stream.happens(event, at + turn * 2_000, send_ms, copies, latest_by=conversation)


def _copy(centre: Centre, random: Random, event: Event) -> list[tuple[Event, int]]:
    return [(centre.published_again(event, random.randrange(90)), random.randrange(200))]


def _burst(stream: Stream, centre: Centre, random: Random) -> None:
    for _, at in _moments(100):
        conversation = centre.id()
        for turn, suffix in enumerate(("customer.start", "acd.start", "acd.end")):
            event = centre.conversation(suffix, at + turn * 5_000, conversation)
            copies = [(centre.published_again(event), 0)] if random.random() < 0.2 else []
            stream.happens(event, at + turn * 5_000, 0, copies)


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

# Events of one kind, so many of them, which the faults strike in turns.
_FAULTY: tuple[tuple[str, str, str, int, tuple[Fault | None, ...]], ...] = (
    ("redelivery", "SQS delivers the same message twice, immediately or later",
     "user.start", 24, (Fault.TWICE_AT_ONCE, Fault.AGAIN_LATER)),
    ("crashes", "the worker dies after it received an event, before it acts",
     "acd.start", 24, (None, Fault.DIES_BEFORE_ACT, Fault.DIES_BEFORE_ACT, Fault.DIES_BEFORE_ACT)),
    ("failing action", "the destination is down twice, or permanently rejects an event",
     "user.end", 24, (Fault.REJECTED, Fault.DOWN_TWICE, None, None, None, Fault.DOWN_TWICE, None,
                      None)),
    ("store's response lost", "a write succeeds, its response is lost, and the client repeats it",
     "customer.start", 20, (Fault.STORE_UNHEARD, None, None)),
    ("act's response lost", "the destination acted, and its response or its sender is lost",
     "user.start", 24, (Fault.ACT_UNHEARD, Fault.DIES_AFTER_ACT, None, None)),
)  # fmt: skip
