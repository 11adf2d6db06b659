"""Walks through every state a world can come to, breadth first: a trace is a shortest one."""

import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from tests.explorer.state import Broken, State
from tests.explorer.symmetry import Order, Symmetry
from tests.explorer.world import World


@dataclass(frozen=True)
class Step:
    """One line of a trace; as data, so that another stack can be led the same way."""

    who: str
    what: str
    told: str

    def __str__(self) -> str:
        return f"{self.who:8}{self.what:14} {self.told}"


@dataclass(frozen=True)
class Found:
    """How much was seen, and the shortest way to a broken promise if there is one."""

    states: int
    moves: int
    depth: int
    seconds: float
    complete: bool
    broken: str = ""
    trace: tuple[Step, ...] = ()


def explore(world: World, most_states: int | None = None) -> Found:
    """Of a state that was seen only its 64-bit hash is kept: among a million of them, two that
    differ share one with a chance of less than one in ten million."""
    began = perf_counter()
    symmetry = Symmetry(world.scenario)
    start = symmetry.tidied(world.start()).state
    seen = {hash(start)}
    parents, choices = array("L", [0]), array("H", [0])
    level, depth, moves = [(0, start)], 0, 0

    def found(complete: bool, broken: str = "", trace: tuple[Step, ...] = ()) -> Found:
        seconds = round(perf_counter() - began, 1)
        return Found(len(seen), moves, depth, seconds, complete, broken, trace)

    while level:
        following: list[tuple[int, State]] = []
        for number, state in level:
            for choice, move in enumerate(world.moves(state)):
                moves += 1
                if isinstance(move.then, Broken):
                    way = [choice]
                    while number:
                        way.append(choices[number])
                        number = parents[number]
                    return found(False, *told(world, way[::-1]))
                then = symmetry.tidied(move.then).state
                fingerprint = hash(then)
                if fingerprint not in seen:
                    seen.add(fingerprint)
                    following.append((len(parents), then))
                    parents.append(number)
                    choices.append(choice)
        if most_states and len(seen) > most_states:
            return found(False)
        level = following
        depth += 1
    return found(True)


def told(world: World, choices: Sequence[int]) -> tuple[str, tuple[Step, ...]]:
    """Goes the same way once more, and calls everybody by the same name all along."""
    symmetry = Symmetry(world.scenario)
    state, _, messages = symmetry.tidied(world.start())
    letters: dict[int, str] = {-1: "nobody"}
    steps: list[Step] = []
    deliveries = 0
    for choice in choices:
        move = list(world.moves(state))[choice]
        if move.what == "delivers":
            letters[move.names[0]] = chr(ord("A") + deliveries)
            deliveries += 1
        names = [letters[name] for name in move.names]
        who = move.who if isinstance(move.who, str) else letters[move.who]
        steps.append(Step(who, move.what, _renamed(move.told, names, messages)))
        if isinstance(move.then, Broken):
            by_number = [letters.get(number, "nobody") for number in range(max(letters) + 1)]
            return _renamed(str(move.then), by_number, messages), tuple(steps)
        state, new, order = symmetry.tidied(move.then)
        letters = {-1: "nobody"} | {now: letters[old] for old, now in new.items()}
        known = (*messages, *range(len(messages), len(order)))
        messages = tuple(known[old] for old in order)
    return "", tuple(steps)


def _renamed(text: str, names: Sequence[str], messages: Order) -> str:
    text = re.sub(r"\bm(\d)\b", lambda found: f"m{messages[int(found[1]) - 1] + 1}", text)
    return re.sub(r"\brun(\d+)", lambda found: names[int(found[1])], text)
