"""EventBridge's event pattern language: which events a condition wants.

As AWS documents it, without `cidr`: a pattern names fields and lists, for each, the values that it
may have. All fields must hold, in a list of objects for the same object.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
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

    name: str
    path: Path
    wanted: tuple[Any, ...]  # as the pattern has them
    tests: tuple[Test, ...] = dataclasses.field(compare=False)
    may_be_absent: bool

    def holds(self, parent: Json, event: Json) -> bool:
        value = parent.get(self.name, [])
        kind = type(value)
        if kind is list or kind is dict:
            if any(test(one) for one in leaves(value, ()) for test in self.tests):
                return True
        else:
            for test in self.tests:
                if test(value):
                    return True
        # Absent from the whole event, as AWS's matcher has it, not only from one object of a list.
        return self.may_be_absent and not any(True for _ in leaves(event, self.path))


@dataclass(frozen=True, slots=True)
class Pattern:
    """The conditions of an object, compiled by `read`."""

    fields: tuple[Field, ...]
    inner: tuple[tuple[str, "Pattern"], ...]
    choices: tuple[tuple["Pattern", ...], ...]  # one for each $or

    def matches(self, event: Json) -> bool:
        return self.unmet(event, event) is None

    def unmet(self, parent: Json, event: Json) -> Field | None:
        """The first field that keeps an object of the event from matching."""
        for field in self.fields:
            if not field.holds(parent, event):
                return field
        for name, pattern in self.inner:
            value = parent.get(name)
            if type(value) is dict:
                unmet = pattern.unmet(value, event)
            else:
                unmet = _first([pattern.unmet(one, event) for one in _objects(value) or [{}]])
            if unmet is not None:
                return unmet
        for choice in self.choices:
            unmet = _first([pattern.unmet(parent, event) for pattern in choice])
            if unmet is not None:
                return unmet
        return None

    def required(self) -> Iterator[Field]:
        """The fields that every event must have as they are named."""
        yield from self.fields
        for _, pattern in self.inner:
            yield from pattern.required()

    def named(self) -> Iterator[Field]:
        """The fields that the pattern names anywhere."""
        yield from self.fields
        for pattern in (*(one for _, one in self.inner), *chain.from_iterable(self.choices)):
            yield from pattern.named()


def _first(unmets: list[Field | None]) -> Field | None:
    return None if None in unmets else unmets[0]


def read(pattern: Any, path: Path = ()) -> Pattern:
    """Compiles a pattern, or raises PatternError for its first fault."""
    if not isinstance(pattern, dict) or not pattern:
        raise PatternError(path, 'a pattern names fields, as in { state = ["BUSY"] }')
    fields, inner, choices = [], [], []
    for name, value in pattern.items():
        here = (*path, name)
        if name == "$or":
            if not isinstance(value, list) or len(value) < 2:
                raise PatternError(here, '"$or" wants a list of two or more patterns')
            choices.append(tuple(read(one, path) for one in value))
        elif isinstance(value, dict):
            inner.append((name, read(value, here)))
        elif isinstance(value, list) and value:
            try:
                tests = _tests([one for one in value if one != {"exists": False}])
            except ValueError as error:
                raise PatternError(here, str(error)) from None
            fields.append(Field(name, here, tuple(value), tests, {"exists": False} in value))
        else:
            raise PatternError(here, f'"{name}" wants a list of values, as in {name} = ["…"]')
    beside = Pattern(tuple(fields), tuple(inner), ())
    for choice in choices:
        _refuse_fields_of_both(beside, choice)
    return Pattern(tuple(fields), tuple(inner), tuple(choices))


def _refuse_fields_of_both(beside: Pattern, choice: tuple[Pattern, ...]) -> None:
    """AWS's matcher would forget one of the two."""
    paths = {field.path for field in beside.named()}
    for field in [field for one in choice for field in one.named()]:
        if field.path in paths:
            raise PatternError(field.path, "a field is named inside $or or beside it, not both")


def _tests(wanted: list[Any]) -> tuple[Test, ...]:
    """Compiles the entries of a field's list: all values to one test, each operator to its own."""
    values = [one for one in wanted if not isinstance(one, dict)]
    tests = [_operator(one) for one in wanted if isinstance(one, dict)]
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
    if all(type(value) is str for value in values):
        return frozenset(values).__contains__
    # In Python 1 equals true.
    wanted = frozenset((type(value) is bool, value) for value in values)
    return lambda value: (type(value) is bool, value) in wanted


def _text_test(compare: Callable[[str, str], bool], text: Any, *, ignore_case: bool) -> Test:
    if not isinstance(text, str):
        raise ValueError("an operator on texts wants a text in quotes")
    if ignore_case:
        lower = text.lower()
        return lambda value: type(value) is str and compare(value.lower(), lower)
    return lambda value: type(value) is str and compare(value, text)


def _prefix_or_suffix(compare: Callable[[str, str], bool], argument: Any) -> Test:
    if isinstance(argument, dict) and [*argument] == ["equals-ignore-case"]:
        return _text_test(compare, argument["equals-ignore-case"], ignore_case=True)
    return _text_test(compare, argument, ignore_case=False)


def _anything_but(argument: Any) -> Test:
    if isinstance(argument, dict):
        [(operator, texts)] = argument.items() if len(argument) == 1 else [("", None)]
        if operator not in ("prefix", "suffix", "equals-ignore-case", "wildcard"):
            raise ValueError(
                '"anything-but" takes one of prefix, suffix, equals-ignore-case and wildcard'
            )
        texts = texts if isinstance(texts, list) else [texts]
        if not texts or not all(isinstance(text, str) and text for text in texts):
            raise ValueError(f'"{operator}" in "anything-but" wants a text or a list of texts')
        tests = [_OPERATORS[operator](text) for text in texts]
        return lambda value: not any(test(value) for test in tests)
    values = argument if isinstance(argument, list) else [argument]
    kinds = {"number" if type(one) in (int, float) else type(one) for one in values}
    if kinds not in ({str}, {"number"}):
        raise ValueError('"anything-but" wants a text, a number, a list of texts or of numbers')
    is_one = _equals(values)
    return lambda value: not is_one(value)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": eq,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}
_RANGES = [(">", "<"), (">", "<="), (">=", "<"), (">=", "<="), *((one,) for one in _COMPARISONS)]


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
        raise ValueError(f"no number is within {bounds}")
    checks = [(_COMPARISONS[one], number) for one, number in zip(operators, numbers, strict=True)]

    def test(value: Any) -> bool:
        return type(value) in (int, float) and all(check(value, number) for check, number in checks)

    return test


def _exists(argument: Any) -> Test:
    if argument is not True:  # `read` takes false for itself
        raise ValueError('"exists" wants true or false')
    return lambda _: True


def _wildcard(argument: Any) -> Test:
    if not isinstance(argument, str):
        raise ValueError('"wildcard" wants a text in quotes')
    first, *between = _between_asterisks(argument)
    if not between:
        return _equals([first])
    last = between.pop()

    def test(value: Any) -> bool:
        # Each part as early as it can be: linear, where a regular expression would go back.
        if type(value) is not str or not value.startswith(first):
            return False
        at, end = len(first), len(value) - len(last)
        for part in between:
            found = value.find(part, at, end)
            if found < 0:
                return False
            at = found + len(part)
        return at <= end and value.endswith(last)

    return test


def _between_asterisks(text: str) -> list[str]:
    """The texts around the asterisks; a backslash before one, or before another, is an escape."""
    parts = [""]
    at = 0
    while at < len(text):
        one, two = text[at], text[at : at + 2]
        if two == "**" or (one == "\\" and two not in ("\\*", "\\\\")):
            raise ValueError(f'"{two}" means nothing in a wildcard')
        if one == "*":
            parts.append("")
        else:
            parts[-1] += two[-1] if one == "\\" else one
        at += 2 if one == "\\" else 1
    return parts


_OPERATORS: dict[str, Callable[[Any], Test]] = {
    "prefix": partial(_prefix_or_suffix, str.startswith),
    "suffix": partial(_prefix_or_suffix, str.endswith),
    "equals-ignore-case": partial(_text_test, eq, ignore_case=True),
    "anything-but": _anything_but,
    "numeric": _numeric,
    "exists": _exists,
    "wildcard": _wildcard,
}


def leaves(value: Any, path: Path) -> Iterator[Any]:
    """The values at a path that are no objects, in lists too."""
    if type(value) is list:
        for one in value:
            yield from leaves(one, path)
    elif type(value) is not dict:
        if not path:
            yield value
    elif path and path[0] in value:
        yield from leaves(value[path[0]], path[1:])


def _objects(value: Any) -> list[Json]:
    if type(value) is list:
        return [found for one in value for found in _objects(one)]
    return [value] if type(value) is dict else []
