"""Plays the streams: each rival behind a queue with workers that die and stores whose responses get
lost, and this project in the simulator, as its definition and functions are deployed."""

import heapq
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from once_enrichment.normalise import normalise

from bench.compare.reading import content_key, entity, happened_ms
from bench.compare.rivals import FIFO_MS, OURS, RIVALS, ActionError, Ask, Rival, Steps, Store
from bench.compare.rivals import Act as Sends
from bench.compare.streams import (
    AGAIN_LATER,
    DIES_AFTER_ACT,
    DIES_BEFORE_ACT,
    STORE_ANSWER_LOST,
    TWICE_AT_ONCE,
    Happening,
    Message,
    Stream,
    streams,
)
from bench.compare.verdict import Act, judge
from proof.sim import deployed
from proof.sim.events import HOUR_MS, START_MS, Event, record
from proof.sim.world import Due, Option, World

STORE_MS = 5
ACTION_MS = 50
WORKERS = 12
MAX_RECEIVES = 5
VISIBILITY_MS = 22_000
LATER_MS = 1_000
# All events have happened by then: the enrichment does not believe a time in the future.
_NOW_MS = START_MS + HOUR_MS

Result = dict[str, Any]


def compare(seed: int) -> Result:
    sent = streams(seed)
    messages = [message for stream in sent for message in stream.messages]
    return {
        "seed": seed,
        "messages": len(messages),
        "happenings": sum(len(stream.happenings) for stream in sent),
        "storeMs": STORE_MS,
        "actionMs": ACTION_MS,
        "streams": [
            {
                "name": stream.name,
                "what": stream.what,
                "messages": len(stream.messages),
                "happenings": len(stream.happenings),
                "saidOpenly": stream.said_openly,
            }
            for stream in sent
        ],
        "contestants": [*(_rival(sent, seed, rival) for rival in RIVALS), _ours(sent, seed)],
    }


class Destination:
    """Recognises each happening, whoever sends it, and fails as the streams plan."""

    def __init__(self) -> None:
        self.acts: list[Act] = []
        self._requests: Counter[str] = Counter()

    def reply(self, happening: Happening, said_ms: int | None, key: str) -> bool:
        """Returns true if the sender hears of a success."""
        number = self._requests[happening.name]
        self._requests[happening.name] += 1
        reply = happening.replies[number] if number < len(happening.replies) else 200
        if happening.refused or reply == 503:
            return False
        self.acts.append(Act(happening, said_ms, key))
        return bool(reply == 200)


class Queue:
    """A queue and the workers of one rival."""

    def __init__(self, rival: Rival, seed: int) -> None:
        self.rival, self.random = rival, Random(seed)  # noqa: S311 - to be repeated
        self.destination, self.store = Destination(), Store()
        self.now_ms, self.requests = 0, 0
        self.troubled: set[str] = set()
        self.kept: set[str] = set()
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._number = itertools.count()
        self._idle: list[dict[str, Any]] = [{} for _ in range(WORKERS)]
        self._waiting: list[tuple[Message, int]] = []
        self._groups: set[str] = set()
        self._seen: dict[str, int] = {}
        self._struck: set[tuple[str, str]] = set()

    def play(self, messages: Sequence[Message]) -> None:
        for message in messages:
            self._at(message.send_ms, lambda m=message: self._arrives(m))  # type: ignore[misc]
        while self._due:
            self.now_ms, _, act = heapq.heappop(self._due)
            act()

    def _at(self, at_ms: int, act: Callable[[], None]) -> None:
        heapq.heappush(self._due, (at_ms, next(self._number), act))

    def _arrives(self, message: Message) -> None:
        if self.rival.is_fifo:
            key = content_key(message.event)
            if self.now_ms < self._seen.get(key, -1):
                return
            self._seen[key] = self.now_ms + FIFO_MS
        self._receive(message, 1)
        if not self.rival.is_fifo and self._strikes(TWICE_AT_ONCE, message):
            self._receive(message, 1)

    def _strikes(self, fault: str, message: Message) -> bool:
        """A fault strikes once."""
        happening = message.happening
        if happening.fault != fault or (fault, happening.name) in self._struck:
            return False
        self._struck.add((fault, happening.name))
        return True

    def _receive(self, message: Message, receives: int) -> None:
        """A standard queue keeps no order; a FIFO queue does, and one at a time for each group."""
        place = len(self._waiting) if self.rival.is_fifo else self.random.randint(0, 3)
        self._waiting.insert(max(0, len(self._waiting) - place) if not self.rival.is_fifo else place,
                             (message, receives))  # fmt: skip
        self._at(self.now_ms + 1, self._poll)

    def _poll(self) -> None:
        for place, (message, receives) in enumerate(self._waiting):
            group = entity(message.event)
            if not self._idle:
                return
            if self.rival.is_fifo and group in self._groups:
                continue
            del self._waiting[place]
            self._groups.add(group)
            memory = self._idle.pop(self.random.randrange(len(self._idle)))
            steps = self.rival.handle(message.event, memory)
            self._go_on(message, receives, memory, steps, self.now_ms, None)
            self._at(self.now_ms, self._poll)
            return

    def _go_on(
        self,
        message: Message,
        receives: int,
        memory: dict[str, Any],
        steps: Steps,
        began_ms: int,
        answer: Any,
    ) -> None:
        def resume(later_ms: int, answer: Any) -> None:
            again = (message, receives, memory, steps, began_ms, answer)
            self._at(self.now_ms + later_ms, lambda: self._go_on(*again))

        try:
            failed = isinstance(answer, ActionError)
            step = steps.throw(answer) if failed else steps.send(answer)
        except StopIteration:
            return self._end(message, receives, memory, began_ms, is_done=True)
        except ActionError:
            return self._end(message, receives, memory, began_ms, is_done=False)
        if isinstance(step, Sends):
            if self._strikes(DIES_BEFORE_ACT, message):
                return self._die(message, receives, steps, began_ms)
            said_ms = happened_ms(message.event)
            is_heard = self.destination.reply(message.happening, said_ms, step.key)
            if self._strikes(DIES_AFTER_ACT, message):
                return self._die(message, receives, steps, began_ms)
            return resume(ACTION_MS, None if is_heard else ActionError("no success"))
        return resume(*self._asked(message, step))

    def _asked(self, message: Message, ask: Ask) -> tuple[int, Any]:
        """Returns how long a request to the store takes, and its answer."""
        self.requests += 1
        answer = ask(self.store, self.now_ms)
        if self._strikes(STORE_ANSWER_LOST, message):  # the client repeats it
            self.requests += 1
            return 2 * STORE_MS, ask(self.store, self.now_ms)
        return STORE_MS, answer

    def _die(self, message: Message, receives: int, steps: Steps, began_ms: int) -> None:
        """The worker is gone. Only a durable function goes on from its last step."""
        if self.rival.is_durable:
            steps = self.rival.handle(message.event, {})
            next(steps)
            again = (message, receives, {}, steps, began_ms, True)
            return self._at(self.now_ms + LATER_MS, lambda: self._go_on(*again))
        self._end(message, receives, {}, began_ms, is_done=False)
        return None

    def _end(
        self,
        message: Message,
        receives: int,
        memory: dict[str, Any],
        began_ms: int,
        *,
        is_done: bool,
    ) -> None:
        self._idle.append(memory)
        self._groups.discard(entity(message.event))
        self._at(self.now_ms, self._poll)
        name = message.happening.name
        if is_done and not self.rival.is_fifo and self._strikes(AGAIN_LATER, message):
            self._at(self.now_ms + LATER_MS, lambda: self._receive(message, receives))
        if is_done:
            return
        self.troubled.add(name)
        if receives >= MAX_RECEIVES or self.rival.is_durable:
            self.kept.add(name)
        else:
            later_ms = max(self.now_ms, began_ms + VISIBILITY_MS)
            self._at(later_ms, lambda: self._receive(message, receives + 1))


def _rival(sent: Sequence[Stream], seed: int, rival: Rival) -> Result:
    queue = Queue(rival, seed)
    queue.play([message for stream in sent for message in stream.messages])
    verdicts = {
        stream.name: judge(stream, queue.destination.acts, queue.kept, queue.troubled).counts()
        for stream in sent
    }
    return _described((rival.letter, rival.title), queue.requests, verdicts)


def _described(who: tuple[str, str], requests: int, verdicts: Result) -> Result:
    letter, title = who
    return {"letter": letter, "title": title, "storeCalls": requests, "streams": verdicts}


class _Watched:
    """In the place of the promises: the verdict is the comparison's own."""

    def __init__(self, happenings: dict[str, Happening], destination: Destination) -> None:
        self._happenings, self._destination = happenings, destination
        self.unread_ms = 0

    def __getattr__(self, _: str) -> Callable[..., None]:
        return lambda *_, **__: None


def _ours(sent: Sequence[Stream], seed: int) -> Result:
    random, destination = Random(seed), Destination()  # noqa: S311 - to be repeated
    messages = [message for stream in sent for message in stream.messages]
    happenings = {f"{n}": message.happening for n, message in enumerate(messages)}
    events = {f"{n}": Event(f"{n}", body=message.body) for n, message in enumerate(messages)}
    world = World(
        deployed.machine(),
        deployed.functions(),
        events,
        _Watched(happenings, destination),  # type: ignore[arg-type]
        latency_ms=lambda kind: ACTION_MS if kind == "request" else random.choice((2, 5, 8)),
        elements=lambda _, message: dict(normalise(record(message))),
        now_ms=_NOW_MS,
        counts=Counter(),
    )
    world.deeds = {
        f"{n}": lambda world, n=n: world.send(f"{n}", messages[n].body)  # type: ignore[misc]
        for n in range(len(messages))
    }
    for n, message in enumerate(messages):
        world.schedule("deed", f"{n}", _NOW_MS + message.send_ms)
    troubled: set[str] = set()
    struck: set[tuple[str, str]] = set()
    while (due := world.next_due()) is not None:
        world.now_ms = max(world.now_ms, due.at_ms)
        option = _option(world, due, happenings, destination, struck)
        if due.kind == "function" and option.fault:
            troubled.add(happenings[world.invocations[due.id].event].name)
        world.go(due, option)
    kept = {happenings[message.event].name for message in world.dead_letters.values()}
    verdicts = {
        stream.name: judge(stream, destination.acts, kept, troubled).counts() for stream in sent
    }
    counts = world.counts or {}
    requests = sum(n for name, n in counts.items() if "dynamodb" in name or "function " in name)
    return _described(OURS, requests, verdicts)


def _option(
    world: World,
    due: Due,
    happenings: dict[str, Happening],
    destination: Destination,
    struck: set[tuple[str, str]],
) -> Option:
    """Lets the faults of a stream strike once, and the destination reply as it plans."""

    def strikes(fault: str, event: str) -> bool:
        happening = happenings[event]
        if happening.fault != fault or (fault, happening.name) in struck:
            return False
        struck.add((fault, happening.name))
        return True

    if due.kind == "message" and strikes(TWICE_AT_ONCE, world.queue[due.id].event):
        return Option("twice")
    if due.kind == "run":
        run = world.runs[due.id]
        is_claim = run.call is not None and run.call.state == "ClaimKey"
        if is_claim and strikes(STORE_ANSWER_LOST, run.event):
            return Option("lost")
        if run.position is None and strikes(AGAIN_LATER, run.event):
            return Option("not deleted")
    options = world.options(due)
    if due.kind != "function" or options[0].outcome != "200":
        return options[0]
    invocation = world.invocations[due.id]
    if invocation.sending:
        return options[0]
    if strikes(DIES_BEFORE_ACT, invocation.event):
        return Option("killed", "function")
    element, key = invocation.payload["event"], invocation.payload["idempotencyKey"]
    happening = happenings[invocation.event]
    is_heard = destination.reply(happening, element["occurredAtMs"], key)
    if strikes(DIES_AFTER_ACT, invocation.event):
        return Option("killed", "function")
    if happening.refused:
        return Option("422")
    return Option("200" if is_heard else "500")
