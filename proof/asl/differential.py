"""Our definition's expressions on both engines of JSONata: as executions bring them about, and with
hostile values in their place."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from proof.asl.jsonata import Clock, Engine, Library, QueryError, Undefined

Json = Any

# An answer is a list of one value, or one of these.
_FAILS = "fails"
_UNDEFINED = "has no value"
_NAME = re.compile(r"\$(\w+)")
_PART = re.compile(r"\$states\.(\w+)")


@dataclass(frozen=True)
class Case:
    """One evaluation; the bindings are text, so that cases can be compared and counted."""

    expression: str
    bindings: str
    clock_ms: int

    def answer(self, engine: Engine) -> Json:
        try:
            value = engine.evaluate(
                self.expression, json.loads(self.bindings), Clock(self.clock_ms)
            )
        except QueryError:
            return _FAILS
        return _UNDEFINED if isinstance(value, Undefined) else [value]


class Recorder(Library):
    """Notes what it is asked, once each, with the values that the expression reads."""

    def __init__(self) -> None:
        self.cases: dict[Case, None] = {}

    def evaluate(
        self, expression: str, bindings: Mapping[str, Json], clock: Clock
    ) -> Json | Undefined:
        names, parts = set(_NAME.findall(expression)), set(_PART.findall(expression))
        read = {name: value for name, value in bindings.items() if name in names}
        if "states" in names:
            states = bindings["states"]
            read["states"] = {part: value for part, value in states.items() if part in parts}
        self.cases[Case(expression, json.dumps(read, sort_keys=True), clock.ms)] = None
        return super().evaluate(expression, bindings, clock)


# Cases with hostile values.

HOSTILE: tuple[Json, ...] = (
    None, True, False, 0, -1, 0.1, 1e-7, 1e21, 2**53, 1_777_875_660_123.5,
    "", " ", "0", "-0", "1e3", "NaN", "0x10", "true", "IN_PROGRESS", "a#b:c/d",
    "größe \u2028 🂡", "\x00\x1f\\\"'",
    [], [[]], [None], [[1]], [1, "1", True], [{}, {"messageId": "m1"}],
    {}, {"N": "1", "S": "x"}, {"messageId": ["m1", "m2"]},
)  # fmt: skip


def mutants(known: Sequence[Case], count: int, seed: int) -> Iterator[Case]:
    """Each expression as often as the others."""
    by_expression: dict[str, list[Case]] = {}
    for case in known:
        by_expression.setdefault(case.expression, []).append(case)
    expressions = sorted(by_expression)
    random = Random(seed)  # noqa: S311 - to be repeated, not to be secret
    for number in range(count):
        among = by_expression[expressions[number % len(expressions)]]
        yield _mutated(random.choice(among), random)


def _mutated(case: Case, random: Random) -> Case:
    """The case with one to three values of its context replaced, dropped, wrapped or repeated."""
    bindings = json.loads(case.bindings)
    for _ in range(random.randint(1, 3)):
        holders = [holder for holder in _holders(bindings) if holder]
        if not holders:
            break
        holder = random.choice(holders)
        place: Any = random.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        match random.randrange(5):
            case 0 if holder is not bindings:
                del holder[place]
            case 1:
                holder[place] = [holder[place]]
            case 2:
                holder[place] = [holder[place], holder[place]]
            case _:
                holder[place] = json.loads(json.dumps(random.choice(HOSTILE)))
    return replace(case, bindings=json.dumps(bindings))


def _holders(value: Json) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _holders(inner)


# Differences.


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _without_long_numbers(value: Json) -> Json:
    """Nor those that are long by the time that they were multiplied by a thousand."""
    if not _is_number(value) or value == 0:
        return value
    digits = 15 if isinstance(value, int) else 12
    is_short = float(f"{value:.{digits}g}") == value and 1e-6 <= abs(value) < 1e15
    return value if is_short else 7


def _without_nesting(value: Json) -> Json:
    if not isinstance(value, list):
        return value
    parts = (inner if isinstance(inner, list) else [inner] for inner in value)
    return [inner for part in parts for inner in part]


def _has_no_number(value: Json) -> bool:
    return isinstance(value, dict) and not isinstance(value.get("N", ""), str)


# Why the engines may differ, and what takes the cause out of a value: a difference counts as known
# only if it is gone then.
KNOWN: Mapping[str, Callable[[Json], Json]] = {
    "null: the library takes it for no value where a function has it as an argument": (
        lambda value: "x" if value is None else value
    ),
    "numbers of more than 15 digits or below a millionth: they are written otherwise as text": (
        _without_long_numbers
    ),
    "text beyond ASCII in an object that $string writes: the library escapes it": (
        lambda value: "x" if isinstance(value, str) and not value.isascii() else value
    ),
    "'NaN': the library takes it for a number, the reference refuses it": (
        lambda value: "7" if value == "NaN" else value
    ),
    "true beside 1, false beside 0: equal in Python": (
        lambda value: "x" if isinstance(value, bool) else value
    ),
    "an index below zero that is no whole number: the library rounds it up, the reference down": (
        lambda value: round(value) if isinstance(value, float) else value
    ),
    "an object that $map hands to $number: the library passes over it, the reference refuses it": (
        lambda value: value | {"N": "7"} if _has_no_number(value) else value
    ),
    "a list in a list: the library finds it by its value, the reference never": _without_nesting,
}
SEVERAL = "several of these"
UNLISTED = "not listed"


def difference(case: Case, one: Engine, other: Engine) -> str | None:
    """Why two engines answer a case differently: None if they do not."""
    if _agree(case, one, other):
        return None
    for reason, cause in KNOWN.items():
        if _agree(_without(case, cause), one, other):
            return reason
    for cause in KNOWN.values():
        case = _without(case, cause)
    return SEVERAL if _agree(case, one, other) else UNLISTED


def _agree(case: Case, one: Engine, other: Engine) -> bool:
    first, second = (_changed(case.answer(engine), _as_double) for engine in (one, other))
    return bool(first == second)


def _as_double(value: Json) -> Json:
    """Beyond 53 bits JSON may write one double as several integers, and 1 is not true."""
    return (float(value),) if _is_number(value) else value


def _without(case: Case, cause: Callable[[Json], Json]) -> Case:
    return replace(case, bindings=json.dumps(_changed(json.loads(case.bindings), cause)))


def _changed(value: Json, change: Callable[[Json], Json]) -> Json:
    """The value with all that is in it changed, from the inside out."""
    if isinstance(value, dict):
        value = {name: _changed(inner, change) for name, inner in value.items()}
    elif isinstance(value, list):
        value = [_changed(inner, change) for inner in value]
    return change(value)
