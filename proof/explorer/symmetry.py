"""Makes one state of all that differ only in what executions, and copies, are called."""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from proof.explorer.clock import ranked_times, ranks, reranked
from proof.explorer.scenario import Scenario
from proof.explorer.state import NOBODY, Deed, Run, State

_MESSAGE = re.compile(r"\bm(\d)\b")

Order = tuple[int, ...]


class Tidied(NamedTuple):
    """A state and how to find one's way in it: the new name of each run, and for each place in the
    queue the place where its message was before."""

    state: State
    names: dict[int, int]
    order: Order


class Symmetry:
    def __init__(self, scenario: Scenario) -> None:
        # For each message the first that is just like it.
        self._like = [scenario.messages.index(sent) for sent in scenario.messages]
        self._paced = scenario.paced is not None

    def tidied(self, state: State) -> Tidied:
        alike: dict[int, list[int]] = {}
        for place, message in enumerate(state.queue):
            alike.setdefault(self._like[message.sent], []).append(place)
        order = list(range(len(state.queue)))
        for places in alike.values():
            if len(places) > 1:
                ranked = _ranked(state, places)
                for place, chosen in zip(places, ranked, strict=True):
                    order[place] = chosen
        if any(old != new for new, old in enumerate(order)):
            state = _reordered(state, tuple(order))
        if self._paced:
            state = _in_order_of_time(state)
        return Tidied(*_renumbered(state), tuple(order))


def _in_order_of_time(state: State) -> State:
    """Nothing is left of when a failure was but what came before it, and what after."""
    times: frozenset[int] = frozenset()
    for one in (*state.rows, *state.pace, *state.runs):
        times |= ranked_times(one.text)
    new = ranks(times)
    if not new:
        return state
    return state._replace(
        rows=tuple(held._replace(text=reranked(held.text, new)) for held in state.rows),
        pace=tuple(row._replace(text=reranked(row.text, new)) for row in state.pace),
        runs=tuple(run._replace(text=reranked(run.text, new)) for run in state.runs),
    )


def fresh_name(state: State) -> int:
    return max(_names(state), default=NOBODY) + 1


def _ranked(state: State, places: list[int]) -> list[int]:
    if len({state.queue[place] for place in places}) == len(places):
        return sorted(places, key=lambda place: state.queue[place])
    return sorted(places, key=lambda place: _role(state, place))


def _role(state: State, place: int) -> tuple[object, ...]:
    """Returns the part of a message in the state, independent of its name."""
    runs = sorted(
        (run.batch.index(entry), len(run.batch), run.age, _anonymous(run.text))
        for run in state.runs
        for entry in run.batch
        if entry[0] == place
    )
    name = f"m{place + 1}"
    rows = [_mentions(held.text, name) for held in state.rows]
    return state.queue[place], runs, rows, any(one.place == place for one in state.parked)


def _reordered(state: State, order: Order) -> State:
    place = {old: new for new, old in enumerate(order)}
    renamed = tuple(place[index] for index in range(len(order)))

    def moved(entry: tuple[int, str]) -> tuple[int, str]:
        return place[entry[0]], _translated(entry[1], renamed)

    return state._replace(
        rows=tuple(held._replace(text=_translated(held.text, renamed)) for held in state.rows),
        queue=tuple(state.queue[old] for old in order),
        runs=tuple(
            run._replace(
                text=_translated(run.text, renamed), batch=tuple(moved(one) for one in run.batch)
            )
            for run in state.runs
        ),
        parked=tuple(sorted(one._replace(place=place.get(one.place, -1)) for one in state.parked)),
        flying=tuple(
            flying._replace(request=_translated(flying.request, renamed)) for flying in state.flying
        ),
    )


@cache
def _translated(text: str, place: Order) -> str:
    return _MESSAGE.sub(lambda found: f"m{place[int(found[1]) - 1] + 1}", text)


@cache
def _anonymous(text: str) -> str:
    return _MESSAGE.sub("m", text)


@cache
def _mentions(text: str, name: str) -> bool:
    return name in text


def _renumbered(state: State) -> tuple[State, dict[int, int]]:
    """Runs in order, and all names counted from 0 as one comes across them."""
    if len(state.runs) > 1:
        state = state._replace(runs=tuple(sorted(state.runs, key=_without_names)))
    new: dict[int, int] = {}
    for name in _names(state):
        if name not in new:
            new[name] = len(new)
    if all(old == now for old, now in new.items()):
        return state, new
    return _renamed(state, {**new, NOBODY: NOBODY}), new


def _without_names(run: Run) -> tuple[object, ...]:
    return run.batch, run.age, run.skew_ms, run.passed, run.text


def _names(state: State) -> Iterator[int]:
    for run in state.runs:
        yield run.name
    for held in state.rows:
        if held.owner >= 0:
            yield held.owner
        if held.holder >= 0:
            yield held.holder
    for run in state.runs:
        yield from run.met
    for flying in state.flying:
        yield flying.run
        yield from flying.met
    for parked in state.parked:
        if parked.owner >= 0:
            yield parked.owner


def _renamed(state: State, new: dict[int, int]) -> State:
    def all_of(names: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(new[name] for name in names)

    return state._replace(
        rows=tuple(
            held._replace(owner=new[held.owner], holder=new[held.holder]) for held in state.rows
        ),
        runs=tuple(run._replace(name=new[run.name], met=all_of(run.met)) for run in state.runs),
        deeds=tuple(
            Deed(deed.key, new[deed.known]) if deed and deed.known >= 0 else deed
            for deed in state.deeds
        ),
        parked=tuple(sorted(one._replace(owner=new[one.owner]) for one in state.parked)),
        flying=tuple(
            sorted(
                flying._replace(run=new[flying.run], met=all_of(flying.met))
                for flying in state.flying
            )
        ),
    )
