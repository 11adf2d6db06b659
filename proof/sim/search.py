"""Every order of a few messages and a few faults, breadth first: the first broken promise has the
shortest trace.

Nothing takes time here. Time passes only to the next moment at which something is due, and never
past the timeout of a task that is under way. Each end of an execution is also carried on as if all
went well from there, so that a loss shows early.
"""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from proof.asl.machine import Machine
from proof.sim.events import START_MS, Event, body_of
from proof.sim.function import REQUEST_MS, Function
from proof.sim.promises import BrokenError, Promises
from proof.sim.world import Due, Option, World

_TASK_MS = 5_000
_LONGEST_WAY = 3_000
_ENDS = ("deleted", "not deleted", "dies", "enrichment dies")


@dataclass(frozen=True)
class Case:
    """A small world: messages, the faults that may meet them, and how many."""

    name: str
    messages: tuple[Event, ...]
    faults: frozenset[str] = frozenset()
    most_faults: int = 1
    deliveries: int = 3


class Result(NamedTuple):
    states: int
    seconds: float
    is_complete: bool
    broken: str = ""
    trace: tuple[str, ...] = ()


def world_of(case: Case, machine: Machine) -> World:
    events = {event.name: event for event in case.messages}
    world = World(machine, Function(), events, Promises(events), now_ms=START_MS)
    for event in case.messages:
        world.send(event.name, body_of(event))
    return world


def search(case: Case, machine: Machine, most: int = 8_000) -> Result:
    """Goes through at most so many states."""
    began = time.process_time()
    start = world_of(case, machine)
    seen = {start.fingerprint()}
    parents: list[tuple[int, str]] = [(-1, "")]
    left = deque([(0, start)])
    healthy = set[int]()

    def result(is_complete: bool, broken: str = "", number: int = -1, last: str = "") -> Result:
        trace = [last] if last else []
        while number > 0:
            number, said = parents[number]
            trace.append(said)
        seconds = round(time.process_time() - began, 1)
        return Result(len(seen), seconds, is_complete, broken, tuple(trace[::-1]))

    while left:
        number, world = left.popleft()
        is_last = True
        for due, option in moves(world, case):
            is_last = False
            said = _said(world, due, option)
            other = world.fork()
            try:
                other.go(due, option)
            except BrokenError as broken:
                return result(False, str(broken), number, said)
            mark = other.fingerprint()
            if mark in seen:
                continue
            seen.add(mark)
            if option.outcome in _ENDS:
                try:
                    go_well(other, healthy)
                except BrokenError as broken:
                    sentence = f"then, though all goes well, {broken}"
                    return result(False, sentence, number, said)
            parents.append((number, said))
            left.append((len(parents) - 1, other))
        if is_last and not world.runs and not world.queue:
            try:
                world.promises.quiet()
            except BrokenError as broken:
                return result(False, str(broken), number)
        if len(seen) > most:
            return result(False)
    return result(True)


def moves(world: World, case: Case) -> Iterator[tuple[Due, Option]]:
    """Yields who may go on next, and how."""
    dues = [
        due
        for due in world.dues()
        if due.kind != "message" or world.queue[due.id].receives < case.deliveries
    ]
    now = [due for due in dues if due.at_ms <= world.now_ms]
    next_ms = min((due.at_ms for due in dues if due.at_ms > world.now_ms), default=0)
    if any(next_ms > _until_ms(world, due) for due in now):
        next_ms = 0
    for due in [*now, *(due for due in dues if due.at_ms == next_ms)]:
        may_fail = world.faults < case.most_faults
        for option in world.options(due):
            if not option.fault or (may_fail and option.fault in case.faults):
                yield due, option


def _until_ms(world: World, due: Due) -> int:
    """Returns when something that is due has happened, at the latest."""
    if due.kind == "function":
        return world.invocations[due.id].ends_ms
    if due.kind == "run":
        return due.at_ms + _TASK_MS
    if due.kind == "request":
        return due.at_ms + REQUEST_MS
    return world.now_ms + 10**12


def go_well(world: World, healthy: set[int]) -> None:
    """From here on no fault happens: all must be settled in the end."""
    world = world.fork()
    way = []
    for _ in range(_LONGEST_WAY):
        mark = world.fingerprint()
        if mark in healthy:
            break
        way.append(mark)
        due = min(world.dues(), default=None)
        if due is None:
            world.promises.quiet()
            break
        world.go(due, world.options(due)[0])
    else:
        raise BrokenError("executions end", "there is no end")
    healthy.update(way)


def _said(world: World, due: Due, option: Option) -> str:
    at_s = (max(world.now_ms, due.at_ms) - START_MS) / 1_000
    where = ""
    if due.kind == "run" and (position := world.runs[due.id].position):
        where = position.top.state
    elif due.kind == "function":
        where = f"of {world.invocations[due.id].by}"
    fault = f"({option.fault})" if option.fault else ""
    return f"{at_s:8.1f} {due.kind} {due.id} {where} {option.outcome} {fault}".rstrip()


def shown(case: Case, machine: Machine, trace: tuple[str, ...]) -> list[str]:
    """Returns the story of a trace: the same moves again, with what they did."""
    world = world_of(case, machine)
    world.told = told = list[str]()
    for said in trace:
        chosen = (move for move in moves(world, case) if _said(world, *move) == said)
        world.say("--", said.strip())
        with suppress(BrokenError):
            world.go(*next(chosen))
    return told
