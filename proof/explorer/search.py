"""Walks through every state a world can come to, breadth first: a trace is a shortest one."""

import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

from proof.explorer.liveness import Liveness
from proof.explorer.moves import Move
from proof.explorer.state import NOBODY, Broken, State
from proof.explorer.symmetry import Order, Symmetry
from proof.explorer.world import World


@dataclass(frozen=True)
class Step:
    """One line of a trace; as data, so that another stack can be led the same way."""

    who: str
    what: str
    said: str
    fault: str | None = None

    def __str__(self) -> str:
        return f"{self.who:8}{self.what:14} {self.said}"


@dataclass(frozen=True)
class Found:
    """The size of the search, and the shortest path to a broken promise if there is one."""

    states: int
    moves: int
    depth: int
    seconds: float
    complete: bool
    broken: str = ""
    trace: tuple[Step, ...] = ()

    def __str__(self) -> str:
        if not self.broken:
            return f"{self.states} states, every promise kept"
        return "\n".join([f"{self.broken}:", *map(str, self.trace)])


def explore(world: World, most_states: int | None = None) -> Found:
    """Searches all states, breadth first.

    Only the 64-bit hash of a seen state is kept: among a million states, two that differ share one
    with a chance of less than one in ten million."""
    began = perf_counter()
    symmetry, liveness = Symmetry(world.scenario), Liveness(world)
    start = symmetry.tidied(world.start()).state
    seen = {hash(start)}
    parents, choices = array("L", [0]), array("H", [0])
    level, depth, moves = [(0, start)], 0, 0

    def found(complete: bool, broken: str = "", trace: tuple[Step, ...] = ()) -> Found:
        seconds = round(perf_counter() - began, 1)
        return Found(len(seen), moves, depth, seconds, complete, broken, trace)

    def way_to(number: int) -> list[int]:
        way = []
        while number:
            way.append(choices[number])
            number = parents[number]
        return way[::-1]

    while level:
        following: list[tuple[int, State]] = []
        for number, state in level:
            if not liveness.holds(state):
                return found(False, *retold(world, way_to(number)))
            for choice, move in enumerate(world.moves(state)):
                moves += 1
                if isinstance(move.then, Broken):
                    return found(False, *retold(world, [*way_to(number), choice]))
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


def retold(world: World, choices: Sequence[int]) -> tuple[str, tuple[Step, ...]]:
    """Goes the same way once more, then on as long as something is left to be done."""
    teller = Teller(world)
    for choice in choices:
        broken = teller.follow(choice)
        if broken:
            return broken, tuple(teller.steps)
    return teller.go_on(), tuple(teller.steps)


class Teller:
    """Calls everybody by the same name all along: runs by letters, messages as they came."""

    def __init__(self, world: World) -> None:
        self.steps: list[Step] = []
        self._world = world
        self._symmetry = Symmetry(world.scenario)
        self._state = world.start()
        self._letters = {NOBODY: "nobody"}
        self._messages: Order = ()

    def follow(self, choice: int) -> str:
        """Takes one of the moves, and says which promise it breaks, if any."""
        move = list(self._world.moves(self._state))[choice]
        broken = self._tell(move)
        if isinstance(move.then, State):
            self._state, new, order = self._symmetry.tidied(move.then)
            self._letters = {now: self._letters[old] for old, now in new.items()}
            self._letters[NOBODY] = "nobody"
            self._messages = tuple(self._messages[old] for old in order)
        return broken

    def go_on(self) -> str:
        """Lets everything go well, and says what stays undone all the same."""
        complaint, moves = Liveness(self._world).complaint(self._state)
        if not complaint:
            return ""
        for move in moves:
            self._tell(move)
        return self._named(complaint, self._letters)

    def _tell(self, move: Move) -> str:
        if move.what == "delivers":
            runs = sum(step.what == "delivers" for step in self.steps)
            self._letters[move.names[0]] = chr(ord("A") + runs)
        while len(self._messages) <= len(self._state.queue):
            self._messages = (*self._messages, len(self._messages))
        who = move.who if isinstance(move.who, str) else self._letters[move.who]
        names = {at: self._letters[name] for at, name in enumerate(move.names)}
        fault = move.fault.name if move.fault else None
        first, *then = self._named(move.said, names).split(" → ")
        self.steps.append(Step(who, move.what, first, None if then else fault))
        for step in then:
            task, said = step.split(" ", 1)
            self.steps.append(Step(self._letters[move.names[0]], task, said, fault))
        return self._named(str(move.then), self._letters) if isinstance(move.then, Broken) else ""

    def _named(self, text: str, names: Mapping[int, str]) -> str:
        def message(found: re.Match[str]) -> str:
            return f"m{self._messages[int(found[1]) - 1] + 1}"

        text = re.sub(r"\bm(\d)\b", message, text)
        return re.sub(r"\brun(\d+)", lambda found: names[int(found[1])], text)
