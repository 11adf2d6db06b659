"""The conditions of a route: the part of EventBridge's event patterns that routes use.

A pattern names fields and lists, for each, the values that it may have. All fields must hold, in a
list of objects for the same object. Operators are `prefix`, `suffix`, `anything-but` with values,
`numeric` and `exists`.
"""

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from operator import eq, ge, gt, le, lt
from typing import Any

Json = Mapping[str, Any]
Path = tuple[str, ...]
Test = Callable[[Any], bool]


class PatternError(Exception):
    """A part of a pattern that means nothing, and where it is."""

    def __init__(self, path: Path, sentence: str) -> None:
        super().__init__(sentence)
        self.path = path
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Field:
    """The values that one field may have."""

    path: Path
    wanted: tuple[Any, ...]  # as the pattern has them
    tests: tuple[Test, ...] = dataclasses.field(compare=False)
    may_be_absent: bool

    def holds(self, parent: Json, event: Json) -> bool:
        values = leaves(parent.get(self.path[-1], []), ())
        if any(test(value) for value in values for test in self.tests):
            return True
        # Absent from the whole event, as AWS's matcher has it, not only from one object of a list.
        return self.may_be_absent and not any(True for _ in leaves(event, self.path))


@dataclass(frozen=True, slots=True)
class Pattern:
    """The conditions of an object, compiled by `read`."""

    fields: tuple[Field, ...]
    inner: tuple[tuple[str, "Pattern"], ...]

    def matches(self, event: Json) -> bool:
        return self.unmet(event, event) is None

    def unmet(self, parent: Json, event: Json) -> Field | None:
        """Returns the first field that keeps an object of the event from matching."""
        for field in self.fields:
            if not field.holds(parent, event):
                return field
        for name, pattern in self.inner:
            unmet = [pattern.unmet(inner, event) for inner in _objects(parent.get(name)) or [{}]]
            if None not in unmet:
                return unmet[0]
        return None

    def named(self) -> Iterator[Field]:
        """Yields the fields that the pattern names."""
        yield from self.fields
        for _, pattern in self.inner:
            yield from pattern.named()


def read(pattern: Any, path: Path = ()) -> Pattern:
    """Compiles a pattern, or raises PatternError for its first fault."""
    if not isinstance(pattern, dict) or not pattern:
        raise PatternError(path, 'a pattern names fields, as in { state = ["BUSY"] }')
    fields, inner = [], []
    for name, value in pattern.items():
        here = (*path, name)
        if name == "$or":
            raise PatternError(here, '"$or" is not read here: write a route for each alternative')
        if isinstance(value, dict):
            inner.append((name, read(value, here)))
        elif isinstance(value, list) and value:
            try:
                tests = _tests([entry for entry in value if entry != {"exists": False}])
            except ValueError as error:
                raise PatternError(here, str(error)) from None
            fields.append(Field(here, tuple(value), tests, {"exists": False} in value))
        else:
            raise PatternError(here, f'"{name}" wants a list of values, as in {name} = ["…"]')
    return Pattern(tuple(fields), tuple(inner))


def _tests(wanted: list[Any]) -> tuple[Test, ...]:
    """Compiles the entries of a field's list: all values to one test, each operator to its own."""
    values = [entry for entry in wanted if not isinstance(entry, dict)]
    tests = [_operator(entry) for entry in wanted if isinstance(entry, dict)]
    return (_equals(values), *tests) if values else tuple(tests)


def _operator(wanted: dict[str, Any]) -> Test:
    if len(wanted) != 1:
        raise ValueError('an entry is a value or one operator, as in { prefix = "…" }')
    [(operator, argument)] = wanted.items()
    if operator not in _OPERATORS:
        raise ValueError(f'there is no operator "{operator}"; there are {", ".join(_OPERATORS)}')
    return _OPERATORS[operator](argument)


def _equals(values: list[Any]) -> Test:
    if not all(value is None or isinstance(value, str | int | float) for value in values):
        raise ValueError("a value is a text in quotes, a number, true or false")
    # In Python 1 equals true.
    wanted = frozenset((type(value) is bool, value) for value in values)
    return lambda value: (type(value) is bool, value) in wanted


def _on_texts(is_met: Callable[[str, str], bool], argument: Any) -> Test:
    if not isinstance(argument, str):
        raise ValueError("an operator on texts wants a text in quotes")
    return lambda value: type(value) is str and is_met(value, argument)


def _anything_but(argument: Any) -> Test:
    values = argument if isinstance(argument, list) else [argument]
    kinds = {"number" if type(entry) in (int, float) else type(entry) for entry in values}
    if kinds not in ({str}, {"number"}):
        raise ValueError('"anything-but" wants a text, a number, a list of texts or of numbers')
    is_one = _equals(values)
    return lambda value: not is_one(value)


_COMPARISONS = {"=": eq, "<": lt, "<=": le, ">": gt, ">=": ge}
_RANGES = [(">", "<"), (">", "<="), (">=", "<"), (">=", "<="), *((sign,) for sign in _COMPARISONS)]


def _numeric(argument: Any) -> Test:
    bounds = argument if isinstance(argument, list) else []
    operators, numbers = tuple(bounds[::2]), bounds[1::2]
    if (
        operators not in _RANGES
        or len(operators) != len(numbers)
        or not all(type(number) in (int, float) for number in numbers)
    ):
        raise ValueError('"numeric" wants a range, as in [">", 0, "<=", 5], or ["=", 3]')
    if len(numbers) == 2 and numbers[0] >= numbers[1]:
        raise ValueError(f"no number is within {json.dumps(bounds)}")
    checks = [(_COMPARISONS[sign], number) for sign, number in zip(operators, numbers, strict=True)]
    return lambda value: (
        type(value) in (int, float) and all(check(value, number) for check, number in checks)
    )


def _exists(argument: Any) -> Test:
    if argument is not True:  # `read` takes false for itself
        raise ValueError('"exists" wants true or false')
    return lambda _: True


_OPERATORS: dict[str, Callable[[Any], Test]] = {
    "prefix": partial(_on_texts, str.startswith),
    "suffix": partial(_on_texts, str.endswith),
    "anything-but": _anything_but,
    "numeric": _numeric,
    "exists": _exists,
}


def leaves(value: Any, path: Path) -> Iterator[Any]:
    """Yields the values at a path that are no objects, in lists too."""
    if type(value) is list:
        for item in value:
            yield from leaves(item, path)
    elif type(value) is not dict:
        if not path:
            yield value
    elif path and path[0] in value:
        yield from leaves(value[path[0]], path[1:])


def _objects(value: Any) -> list[Json]:
    if type(value) is list:
        return [inner for item in value for inner in _objects(item)]
    return [value] if type(value) is dict else []
