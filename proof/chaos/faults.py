"""Names what goes wrong in a run, how often, and draws where.

The draws look at what a fault would meet and how often that was asked, not at which thread asks
first: with the same seed the same event meets the same faults in the same turns.
"""

import hashlib
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field

from once.genesys.script import Reply, Rule, read_reply
from once.lines import Line

# How many lines those behind may overtake.
_FURTHEST = 30

Chance = Annotated[float, Field(ge=0, le=1)]
Fault = Literal[
    # before the queue
    "sending.sent_twice",
    "sending.overtaken",
    # between the queue and the state machine
    "pipe.delivered_twice",
    "pipe.answer_lost",
    "pipe.delete_lost",
    # at each invocation of a function
    "enrichment.throttled",
    "enrichment.killed",
    "data_action.throttled",
    "data_action.killed",
    "pacing.throttled",
    "pacing.killed",
    # at each call that an execution makes
    "execution.killed",
    "table.throttled",
    "table.answer_lost",
    # at each request; a rejected event stays rejected
    "destination.rate_limited",
    "destination.failing",
    "destination.silent",
    "destination.hung_up",
    "destination.answer_lost",
    "destination.refused",
]


class Faults(BaseModel):
    """The chances of one FILE, which has a section for what stands before the full stop."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    seed: int = 1
    chances: Mapping[Fault, Chance] = {}

    @classmethod
    def read(cls, path: Path) -> Self:
        sections = tomllib.loads(path.read_text("utf-8"))
        seed = sections.pop("seed")
        chances = {
            f"{section}.{name}": chance
            for section, names in sections.items()
            for name, chance in names.items()
        }
        return cls.model_validate({"seed": seed, "chances": chances})

    def chance(self, fault: Fault) -> float:
        return self.chances.get(fault, 0)

    def rules(self) -> list[Rule]:
        """Returns those of the destination; the first that has a reply counts."""
        sometimes: dict[Fault, Any] = {
            "destination.rate_limited": {"status": 429, "retryAfter": 1},
            "destination.failing": 500,
            "destination.silent": "timeout",
            "destination.hung_up": "reset",
            "destination.answer_lost": "lose",
        }
        return [
            Chances(self, {"destination.refused": 422}, each_time=True),
            Chances(self, sometimes),
        ]


class Chances(Rule):
    """Draws a reply for each turn of an Idempotency-Key, or one for all its turns."""

    _seed: int
    _chances: list[tuple[float, Reply]]

    def __init__(
        self, faults: Faults, replies: Mapping[Fault, Any], *, each_time: bool = False
    ) -> None:
        super().__init__(per_event=each_time)
        self._seed = faults.seed
        self._chances = [
            (faults.chance(name), read_reply(how, name)) for name, how in replies.items()
        ]

    def next_reply(self, facts: dict[str, str]) -> Reply | None:
        key = facts.get("idempotencyKey", "")
        thrown = uniform(self._seed, key, 0 if self.per_event else self._taken[key])
        self._taken[key] += 1
        for chance, reply in self._chances:
            if thrown < chance:
                return reply
            thrown -= chance
        return None


class Happened(BaseModel):
    """One fault, and whom it met: messageIds, or idempotencyKeys where events are known."""

    fault: str
    about: list[str]
    state: str = ""  # of the state machine


class OrderCheck(BaseModel):
    """A write of AdvanceLatest that found no newer state, with the times before and after it."""

    owner: str
    asked_ms: float
    passed_ms: float


class Draws:
    """One pair for all the threads of a process."""

    def __init__(self, faults: Faults, note: Callable[[Happened], None] = lambda _: None) -> None:
        self.faults = faults
        self.happened: list[Happened] = []
        self._note = note
        self._turns: Counter[tuple[str, ...]] = Counter()
        self._lock = threading.Lock()

    def draw(
        self, fault: Fault, *place: str, about: Sequence[str] = (), state: str = ""
    ) -> float | None:
        """None: nothing happens. Else how, from 0 to 1."""
        chance = self.faults.chance(fault)
        if chance == 0:
            return None
        with self._lock:
            turn = self._turns[fault, *place]
            self._turns[fault, *place] += 1
        thrown = uniform(self.faults.seed, fault, *place, turn)
        if thrown >= chance:
            return None
        happened = Happened(fault=fault, about=list(about), state=state)
        self.happened.append(happened)
        self._note(happened)
        return thrown / chance


def uniform(*parts: object) -> float:
    """The same number, from 0 to below 1, for the same parts."""
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return int.from_bytes(digest[:6]) / 2**48


def arrange(lines: Iterable[Line], draws: Draws) -> list[Line]:
    """In the order in which they are sent: some twice, some overtaken by those behind them."""
    places: list[tuple[float, Line]] = []
    for place, line in enumerate(lines):
        again = draws.draw("sending.sent_twice", line.text)
        if again is not None:
            places.append((place + again * _FURTHEST, line))
        late = draws.draw("sending.overtaken", line.text)
        places.append((place + (late or 0) * _FURTHEST, line))
    return [line for _, line in sorted(places, key=lambda one: one[0])]
