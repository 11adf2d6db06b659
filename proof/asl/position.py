"""The position of an execution, as immutable values that JSON can hold."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from proof.asl.errors import Failure

Json = Any
# The way to an iteration: its index in the Map, then in the Map inside it, and so on.
Path = tuple[int, ...]
TOP: Path = ()


@dataclass(frozen=True)
class Execution:
    """The part of an execution that never changes."""

    id: str
    input: Json
    started_ms: int = 0

    @property
    def name(self) -> str:
        """The id of an Express execution ends in its name and a UUID, of a Standard one in its
        name (input-output-contextobject.html)."""
        parts = self.id.split(":")
        return parts[-2] if "express" in parts else parts[-1]


@dataclass(frozen=True)
class Iterations:
    """A Map under way: what it goes through, who is at it, and what came out by index."""

    items: list[Json]
    at_once: int
    running: dict[int, "Scope"] = field(default_factory=dict)
    outputs: dict[int, Json] = field(default_factory=dict)


@dataclass(frozen=True)
class Scope:
    """One level of states with variables of its own: the machine's, or that of an iteration."""

    state: str
    input: Json
    variables: dict[str, Json] = field(default_factory=dict)
    entered_ms: int = 0
    # When this try of a task began.
    tried_ms: int = 0
    # How often each retrier of this state was used.
    tries: tuple[int, ...] = ()
    # Until when a Wait or a retry sleeps.
    wakes_ms: int | None = None
    iterations: Iterations | None = None


@dataclass(frozen=True)
class Position:
    """An execution that waits: each of its places is before a task or sleeps."""

    execution: Execution
    top: Scope

    def places(self) -> list[Path]:
        return list(_places(self.top))

    @property
    def only(self) -> Path:
        """The one place, where iterations go one after another."""
        (place,) = self.places()
        return place

    def scopes(self, place: Path) -> list[Scope]:
        """From the machine's own down to the place."""
        found = [self.top]
        for index in place:
            iterations = found[-1].iterations
            if iterations is None or index not in iterations.running:
                raise LookupError(f"nobody stands at {place} of {self.execution.id}")
            found.append(iterations.running[index])
        return found

    def scope(self, place: Path) -> Scope:
        return self.scopes(place)[-1]

    def variables(self, place: Path) -> dict[str, Json]:
        """All that an expression at the place can see."""
        seen: dict[str, Json] = {}
        for scope in self.scopes(place):
            seen |= scope.variables
        return seen


@dataclass(frozen=True)
class Ended:
    """An execution that is over: with an output, or with what it failed of."""

    output: Json = None
    failure: Failure | None = None


def _places(scope: Scope) -> Iterator[Path]:
    if scope.iterations is None:
        yield TOP
        return
    for index, inner in scope.iterations.running.items():
        for rest in _places(inner):
            yield (index, *rest)


def encoded(position: Position) -> Json:
    """The position as JSON; `decoded` is its inverse."""
    execution = vars(position.execution)
    return {"execution": {**execution}, "top": _encoded_scope(position.top)}


def decoded(value: Json) -> Position:
    return Position(Execution(**value["execution"]), _decoded_scope(value["top"]))


def _encoded_scope(scope: Scope) -> Json:
    value = {**vars(scope), "tries": list(scope.tries)}
    if scope.iterations is not None:
        under_way = scope.iterations
        value["iterations"] = {
            "items": under_way.items,
            "at_once": under_way.at_once,
            "running": [[i, _encoded_scope(inner)] for i, inner in under_way.running.items()],
            "outputs": [list(output) for output in under_way.outputs.items()],
        }
    return value


def _decoded_scope(value: Json) -> Scope:
    scope = Scope(**{**value, "tries": tuple(value["tries"])})
    if value["iterations"] is None:
        return scope
    under_way = value["iterations"]
    running = {index: _decoded_scope(inner) for index, inner in under_way["running"]}
    iterations = Iterations(
        under_way["items"], under_way["at_once"], running, dict(under_way["outputs"])
    )
    return replace(scope, iterations=iterations)
