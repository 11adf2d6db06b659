"""Makes the small streams that every contestant gets, each with one kind of trouble, from a seed.

A happening is one real thing that happened; it must act once. Several messages may tell of it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from bench.events import START_MS, Centre, Event, text

# "Six minutes later": FIFO's memory of five minutes is shortened to ten seconds along with it.
LATE_MS = 20_000
FIFO_SECONDS = 10
RETURN_MS = 25_000  # so are the minutes after which a state returns; longer than a redelivery takes
NEXT_STREAM_MS = 700  # each stream begins after the one before, so that none delays another

# Faults of the way to the destination, each striking the one message of its happening once.
TWICE_AT_ONCE = "twice-at-once"
AGAIN_LATER = "again-later"
DIES_BEFORE_ACT = "dies-before-act"
DIES_AFTER_ACT = "dies-after-act"
STORE_ANSWER_LOST = "store-answer-lost"


@dataclass
class Happening:
    """`latest_by` is what the newest state replaces, where only that counts."""

    stream: str
    number: int
    at_ms: int
    latest_by: str | None = None
    replies: tuple[Any, ...] = ()  # of the destination, before it does as it is asked
    refused: bool = False  # permanently rejected: then it must be kept for a person
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
    said_openly: str = ""  # why this project may lose here
    messages: list[Message] = field(default_factory=list)

    @property
    def happenings(self) -> list[Happening]:
        found = {message.happening.name: message.happening for message in self.messages}
        return list(found.values())

    def happens(self, event: Event, at_ms: int, send_ms: int, **about: Any) -> Happening:
        happening = Happening(self.name, len(self.happenings), at_ms, **about)
        self.messages.append(Message(event, happening, send_ms))
        return happening

    def starts_after(self, ms: int) -> None:
        self.messages = [replace(m, send_ms=m.send_ms + ms) for m in self.messages]

    def tells_again(self, happening: Happening, event: Event, send_ms: int) -> None:
        self.messages.append(Message(event, happening, send_ms))


def streams(seed: int) -> list[Stream]:
    centre = Centre(seed)
    random = Random(seed)  # noqa: S311 - to be repeated, not to be guessed
    found = [build(centre, random) for build in _BUILDERS]
    for number, stream in enumerate(found):
        stream.starts_after(number * NEXT_STREAM_MS)
    return found


def _moments(count: int, step_ms: int = 37) -> Iterator[tuple[int, int]]:
    """Yields numbers with a time for each."""
    return enumerate(range(START_MS + step_ms, START_MS + (count + 1) * step_ms, step_ms))


def _singly(
    stream: Stream, centre: Centre, suffix: str, count: int, about: Callable[[int], dict[str, Any]]
) -> Stream:
    """Adds events of conversations of their own; `about` says by number what goes wrong."""
    for number, at in _moments(count):
        stream.happens(centre.conversation(suffix, at), at, number * 30, **about(number))
    return stream


def _copies(centre: Centre, random: Random) -> Stream:
    stream = Stream("copies", "the same envelope two or three times within milliseconds")
    for number, at in _moments(30):
        event = centre.conversation("customer.start", at)
        happening = stream.happens(event, at, number * 30)
        for _ in range(random.choice((1, 1, 2))):
            stream.tells_again(happening, event, number * 30 + random.randrange(10))
    return stream


def _other_ids(centre: Centre, random: Random) -> Stream:
    stream = Stream("other ids", "published again, or by a second integration, under other ids")
    for number, at in _moments(30):
        event = centre.conversation("acd.end", at)
        happening = stream.happens(event, at, number * 30)
        integration = "events" if number % 2 else "second"
        again = centre.published_again(event, random.randrange(90), integration)
        stream.tells_again(happening, again, number * 30 + random.randrange(200))
    return stream


def _same_millisecond(centre: Centre, random: Random) -> Stream:
    stream = Stream("same millisecond", "two states of a conversation in one millisecond, copied")
    for number, at in _moments(20):
        conversation = centre.id()
        for suffix in ("user.end", "acd.end"):
            event = centre.conversation(suffix, at, conversation)
            happening = stream.happens(event, at, number * 30)
            if random.random() < 0.5:
                stream.tells_again(happening, centre.published_again(event), number * 30 + 20)
    return stream


def _state_again(centre: Centre, _: Random) -> Stream:
    stream = Stream("same state again", "an agent rejoins a queue, a call is routed again")
    for number, at in _moments(10):
        conversation = centre.id()
        for turn in range(2):
            then = at + turn * 3_000
            event = centre.conversation("acd.start", then, conversation)
            stream.happens(event, then, number * 30 + turn * 3_000)
        user = centre.id()
        for turn, joined in enumerate((True, False, True)):
            then = at + turn * 3_000
            event = centre.membership(user, joined, then)
            stream.happens(event, then, number * 30 + turn * 3_000, latest_by=user)
    return stream


def _late(centre: Centre, random: Random) -> Stream:
    stream = Stream("late copies", "a copy six minutes later")
    for number, at in _moments(20):
        event = centre.conversation("customer.end", at)
        happening = stream.happens(event, at, number * 30)
        again = centre.published_again(event, 360_000) if random.random() < 0.5 else event
        stream.tells_again(happening, again, number * 30 + LATE_MS)
    return stream


def _out_of_order(centre: Centre, random: Random) -> Stream:
    stream = Stream("out of order", "older states after newer ones, an end before its start")
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
    return stream


def _redelivery(centre: Centre, _: Random) -> Stream:
    stream = Stream("redelivery", "SQS delivers the same message twice, immediately or later")
    faults = (TWICE_AT_ONCE, AGAIN_LATER)
    return _singly(stream, centre, "user.start", 24, lambda number: {"fault": faults[number % 2]})


def _crashes(centre: Centre, _: Random) -> Stream:
    stream = Stream("crashes", "the worker dies after it received an event, before it acts")
    fault = {"fault": DIES_BEFORE_ACT}
    return _singly(stream, centre, "acd.start", 24, lambda n: {} if n % 4 else fault)


def _failing(centre: Centre, _: Random) -> Stream:
    stream = Stream(
        "failing action", "the destination is down twice, or permanently rejects an event"
    )

    def about(number: int) -> dict[str, Any]:
        down = {"replies": (503, 503)} if number % 4 == 1 else {}
        return {"refused": True} if number % 8 == 0 else down

    return _singly(stream, centre, "user.end", 24, about)


def _store_answer_lost(centre: Centre, _: Random) -> Stream:
    stream = Stream(
        "store's response lost", "a write succeeds, its response is lost, and the client repeats it"
    )
    fault = {"fault": STORE_ANSWER_LOST}
    return _singly(stream, centre, "customer.start", 20, lambda n: {} if n % 3 else fault)


def _burst(centre: Centre, random: Random) -> Stream:
    stream = Stream(
        "burst", "300 events of 100 conversations at the same time, a fifth of them copied"
    )
    for _, at in _moments(100):
        conversation = centre.id()
        for turn, suffix in enumerate(("customer.start", "acd.start", "acd.end")):
            then = at + turn * 5_000
            event = centre.conversation(suffix, then, conversation)
            happening = stream.happens(event, then, 0)
            if random.random() < 0.2:
                stream.tells_again(happening, centre.published_again(event), 0)
    return stream


def _state_returns(centre: Centre, random: Random) -> Stream:
    stream = Stream(
        "a state returns", "snapshots, adherence and counters change and change back in minutes"
    )
    for number in range(8):
        user, conversation, queue = centre.id(), centre.id(), centre.id()
        for turn, is_back in enumerate((True, False, True)):
            at = START_MS + number * 37 + turn * 360_000
            states = {
                conversation: centre.snapshot(
                    user, conversation, at, attributes={"verified": str(is_back)}
                ),
                user: centre.adherence(user, "IDLE" if is_back else "INTERACTING", at),
                queue: centre.counters(queue, 1 if is_back else 2, at),
            }
            for latest_by, event in states.items():
                send_ms = number * 30 + turn * RETURN_MS
                happening = stream.happens(event, at, send_ms, latest_by=latest_by)
                again = centre.published_again(event, random.randrange(90))
                stream.tells_again(happening, again, send_ms + random.randrange(200))
    return stream


def _undeclared_field(centre: Centre, random: Random) -> Stream:
    stream = Stream("undeclared field", "a state changes in a field that is not declared")
    for number, at in _moments(12, 10_000):
        user, conversation = centre.id(), centre.id()
        changes: tuple[dict[str, Any], ...] = ({}, {"sentiment": 1}, {"wrapup": {"notes": "x"}})
        for turn, change in enumerate(changes):
            then = at + turn * 2_000
            event = centre.snapshot(user, conversation, then, **change)
            send_ms = number * 30 + turn * 2_000
            happening = stream.happens(event, then, send_ms, latest_by=conversation)
            again = centre.published_again(event, random.randrange(90))
            stream.tells_again(happening, again, send_ms + random.randrange(200))
    return stream


def _act_answer_lost(centre: Centre, _: Random) -> Stream:
    stream = Stream(
        "act's response lost",
        "the destination acted, and its response or the completion write is lost",
        said_openly="the request is repeated, with the same Idempotency-Key",
    )

    def about(number: int) -> dict[str, Any]:
        dies = {"fault": DIES_AFTER_ACT} if number % 4 == 1 else {}
        return {"replies": ("lose",)} if number % 4 == 0 else dies

    return _singly(stream, centre, "user.start", 24, about)


def _returns(centre: Centre, _: Random) -> Stream:
    stream = Stream(
        "there and back",
        "a state without a time leaves and returns within 400 ms",
        said_openly="two states within 500 ms that arrive in another order may both be acted on, "
        "and the earlier one last",
    )
    for number, at in _moments(12, 10_000):
        user = centre.id()
        for turn, joined in enumerate((True, False, True)):
            then = at + turn * 200
            event = centre.membership(user, joined, then)
            stream.happens(event, then, number * 30 + turn * 200, latest_by=user)
    return stream


_BUILDERS = (
    _copies,
    _other_ids,
    _same_millisecond,
    _state_again,
    _late,
    _out_of_order,
    _redelivery,
    _crashes,
    _failing,
    _store_answer_lost,
    _act_answer_lost,
    _returns,
    _state_returns,
    _undeclared_field,
    _burst,
)
