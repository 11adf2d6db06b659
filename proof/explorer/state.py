"""The state of the explored world, as values that can be compared, counted and remembered.

Executions are numbered, and the numbers mean nothing but who is the same.
"""

from typing import NamedTuple

NOBODY = -1

# What is known of an act that no execution has in hand any more, in place of a run's number.
MARKED = -2
UNMARKED = -3
FORGOTTEN = -4

# What is known of an occurrence's calls: whether its claim says that one failed, and whether
# anybody was answered since.
NEVER_FAILED = 0
FAILED = 1
ANSWERED_SINCE = 2


class Message(NamedTuple):
    """A message of the queue: which of the scenario's it carries; a new generation has a new id."""

    sent: int
    generation: int = 0
    deliveries: int = 0
    deleted: bool = False


class Newest(NamedTuple):
    """The newest occurrence that passed in a subject, and its state; none if it was unsure."""

    subject: str
    at_ms: int
    what: str = ""
    state: str = ""


class Passed(NamedTuple):
    """The order of an occurrence was asked: what was done for good by then, and was the newest."""

    what: str
    done: tuple[str, ...]
    before: Newest | None


class Run(NamedTuple):
    """An execution. Its text calls it run0, and others that it has met run1, run2 (`met`).
    `passed` are its events whose order was asked, each for one request."""

    name: int
    text: str
    met: tuple[int, ...]
    batch: tuple[tuple[int, str], ...]
    age: int = 0
    skew_ms: int = 0
    passed: tuple[Passed, ...] = ()


class Held(NamedTuple):
    """A row, whose text calls its owner run0. Whatever it says, `holder` is who put it there, and
    it must last until `kept_until_ms`."""

    key: tuple[str, str]
    text: str
    owner: int
    holder: int
    kept_until_ms: int


class Flying(NamedTuple):
    """A write that was given up and is still under way."""

    run: int
    task: str
    by_put: bool
    key: tuple[str, str]
    request: str
    met: tuple[int, ...]


class Deed(NamedTuple):
    """That an occurrence acted: `known` is the run that has yet to mark it, or a word above."""

    key: str
    known: int


class Pace(NamedTuple):
    """A row of pacing's."""

    key: tuple[str, str]
    text: str


class Parked(NamedTuple):
    """A parked message, with its owner and reason if they matter; else only the occurrence."""

    what: str
    place: int = -1
    reason: str = ""
    owner: int = NOBODY


class State(NamedTuple):
    rows: tuple[Held, ...]
    queue: tuple[Message, ...]
    runs: tuple[Run, ...]
    deeds: tuple[Deed | None, ...]
    parked: tuple[Parked, ...]
    stale: tuple[str, ...]
    unchanged: tuple[str, ...]
    newest: tuple[Newest, ...]
    flying: tuple[Flying, ...]
    pace: tuple[Pace, ...]
    failing: tuple[int, ...]
    calls: int
    probes: int
    faults: int
    zombies: int
    lates: int
    expiries: int
    replays: int


class Broken(Exception):  # noqa: N818 - a finding, not an error
    """A promise that a move has broken."""


def message_id(place: int, generation: int) -> str:
    return f"m{place + 1}" + "'" * generation


def place_of(identifier: str) -> int:
    return int(identifier.strip("m'")) - 1


def held_under(state: State, key: tuple[str, str] | None) -> Held | None:
    for held in state.rows:
        if held.key == key:
            return held
    return None


def pace_under(state: State, key: tuple[str, str] | None) -> str:
    return next((row.text for row in state.pace if row.key == key), "")


def with_pace(state: State, key: tuple[str, str], text: str) -> State:
    """Without text the row is gone."""
    others = [row for row in state.pace if row.key != key]
    return state._replace(pace=tuple(sorted([*others, Pace(key, text)] if text else others)))


def with_row(state: State, new: Held) -> State:
    others = [held for held in state.rows if held.key != new.key]
    return state._replace(rows=tuple(sorted([*others, new])))


def with_run(state: State, run: Run) -> State:
    return state._replace(runs=(*(other for other in state.runs if other.name != run.name), run))


def without_run(state: State, name: int) -> State:
    """The run is over; what it did and had not marked stays unmarked."""
    return unmarked(state, name)._replace(
        runs=tuple(other for other in state.runs if other.name != name)
    )


def unmarked(state: State, name: int) -> State:
    if not any(deed and deed.known == name for deed in state.deeds):
        return state
    return state._replace(
        deeds=tuple(
            Deed(deed.key, UNMARKED) if deed and deed.known == name else deed
            for deed in state.deeds
        )
    )
