"""What is to go wrong in a run, how often, and the draws that decide where.

The draws look at what a fault would meet and how often that was asked, not at which thread asks
first: with the same seed the same event meets the same faults in the same turns.
"""

import hashlib
import threading
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from once.errors import OnceError
from once.lines import Line

# How many lines those behind may overtake.
_FURTHEST = 30

Chance = Annotated[float, Field(ge=0, le=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Sending(_Section):
    """Before the queue."""

    sent_twice: Chance = 0
    overtaken: Chance = 0


class Pipe(_Section):
    """Between the queue and the state machine."""

    delivered_twice: Chance = 0
    answer_lost: Chance = 0
    delete_lost: Chance = 0


class Function(_Section):
    """One of the Lambda functions, at each invocation."""

    throttled: Chance = 0
    killed: Chance = 0


class Execution(_Section):
    """The state machine, at each call that it makes."""

    killed: Chance = 0


class Table(_Section):
    """The claim table, at each call of an execution."""

    throttled: Chance = 0
    answer_lost: Chance = 0


class Destination(_Section):
    """What is called, at each call; but what it refuses it refuses each time."""

    rate_limited: Chance = 0
    failing: Chance = 0
    silent: Chance = 0
    hung_up: Chance = 0
    answer_lost: Chance = 0
    refused: Chance = 0


class Faults(_Section):
    """The chances of one FILE, from 0 to 1 each."""

    seed: int = 1
    sending: Sending = Sending()
    pipe: Pipe = Pipe()
    enrichment: Function = Function()
    execution: Execution = Execution()
    table: Table = Table()
    data_action: Function = Function()
    pacing: Function = Function()
    destination: Destination = Destination()

    @classmethod
    def read(cls, path: Path) -> Self:
        try:
            return cls.model_validate(tomllib.loads(path.read_text("utf-8")))
        except OSError as error:
            raise OnceError(
                f"Cannot read {path}: {error.strerror}.\n"
                "Give a file of faults, e.g. once/examples/chaos.toml."
            ) from error
        except ValidationError as error:
            raise OnceError(f"{path}: {_first_fault(error)}") from None
        except ValueError as error:
            raise OnceError(f"{path} is not TOML: {error}") from None

    def chance(self, fault: str) -> float:
        """`fault` is a section and a name in it, such as table.throttled."""
        section, _, name = fault.partition(".")
        chance: float = getattr(getattr(self, section), name)
        return chance

    def rules(self) -> list[dict[str, Any]]:
        """Those of the destination, in the language of the imitation of Genesys."""
        chances = self.destination
        sometimes = [
            [chances.rate_limited, {"status": 429, "retryAfter": 1}],
            [chances.failing, 500],
            [chances.silent, "timeout"],
            [chances.hung_up, "reset"],
            [chances.answer_lost, "lose"],
        ]
        # The last one is asked first.
        return [
            {"seed": self.seed, "sometimes": sometimes},
            {"seed": self.seed, "perEvent": True, "sometimes": [[chances.refused, 422]]},
        ]


def _first_fault(error: ValidationError) -> str:
    fault = error.errors()[0]
    where = ".".join(str(part) for part in fault["loc"])
    if fault["type"] != "extra_forbidden":
        return f"{where}: {fault['msg']}"
    model: Any = Faults
    for part in fault["loc"][:-1]:
        model = model.model_fields[part].annotation
    return f"there is no {where}; there are {', '.join(model.model_fields)}"


class Happened(BaseModel):
    """One fault, and whom it met: messageIds, or idempotencyKeys where events are known."""

    fault: str
    about: list[str]
    state: str = ""  # of the state machine


class Draws:
    """One pair for all the threads of a process."""

    def __init__(self, faults: Faults, note: Callable[[Happened], None] = lambda _: None) -> None:
        self.faults = faults
        self.happened: list[Happened] = []
        self._note = note
        self._turns: Counter[tuple[str, ...]] = Counter()
        self._lock = threading.Lock()

    def draw(
        self, fault: str, *place: str, about: Sequence[str] = (), state: str = ""
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
