"""Conditions and updates of DynamoDB on a single row, compiled once for each expression.

The tests compare it with moto's evaluator on every request that walks make.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

Value = Mapping[str, Any]  # {"S": "text"}, {"N": "1"} or {"SS": ["a", "b"]}
Row = dict[str, Any]
Key = tuple[str, str]
Request = Mapping[str, Any]
_Test = Callable[[Mapping[str, Value], Request], bool]
_Read = Callable[[Mapping[str, Value], Request], Value | None]

_TOKEN = re.compile(r"\s*(<>|<=|>=|[=<>(),+]|[#:]?[A-Za-z_][\w]*)")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


class RefusedError(Exception):
    """The condition of a write did not hold."""


def key_of(request: Request) -> Key:
    """Returns the key of the row that a request is about."""
    key = request.get("Key") or request["Item"]
    return key["pk"]["S"], key["sk"]["S"]


def written(verb: str, request: Request, row: Row | None) -> Row | None:
    """Returns the row after a write, or None if the write deletes it."""
    condition = request.get("ConditionExpression")
    if condition and not _condition(condition)(row or {}, request):
        raise RefusedError
    if verb == "put":
        return dict(request["Item"])
    if verb == "delete":
        return None
    after = dict(row or request["Key"])
    for change in _update(request["UpdateExpression"]):
        change(row or {}, after, request)
    return after


class _Tokens:
    def __init__(self, text: str) -> None:
        self.left = _TOKEN.findall(text)[::-1]
        if "".join(self.left[::-1]) != re.sub(r"\s", "", text):
            raise ValueError(f"an expression with unknown signs: {text}")

    def peek(self) -> str:
        return self.left[-1] if self.left else ""

    def take(self, expected: str = "") -> str:
        token = str(self.left.pop())
        if expected and token != expected:
            raise ValueError(f"{token} in place of {expected}")
        return token


@lru_cache(1_024)
def _condition(text: str) -> _Test:
    tokens = _Tokens(text)
    test = _any(tokens)
    if tokens.left:
        raise ValueError(f"an expression that goes on: {text}")
    return test


def _any(tokens: _Tokens) -> _Test:
    tests = [_all(tokens)]
    while tokens.peek() == "OR":
        tokens.take()
        tests.append(_all(tokens))
    return tests[0] if len(tests) == 1 else lambda row, given: any(t(row, given) for t in tests)


def _all(tokens: _Tokens) -> _Test:
    tests = [_one(tokens)]
    while tokens.peek() == "AND":
        tokens.take()
        tests.append(_one(tokens))
    return tests[0] if len(tests) == 1 else lambda row, given: all(t(row, given) for t in tests)


def _one(tokens: _Tokens) -> _Test:
    if tokens.peek() == "NOT":
        tokens.take()
        inner = _one(tokens)
        return lambda row, given: not inner(row, given)
    if tokens.peek() == "(":
        tokens.take()
        inner = _any(tokens)
        tokens.take(")")
        return inner
    if tokens.peek() in ("attribute_exists", "attribute_not_exists"):
        exists = tokens.take() == "attribute_exists"
        tokens.take("(")
        name = tokens.take()
        tokens.take(")")
        return lambda row, given: (_name(name, given) in row) == exists
    left, sign, right = _operand(tokens), tokens.take(), _operand(tokens)
    compare = _COMPARE[sign]

    def test(row: Mapping[str, Value], given: Request) -> bool:
        a, b = left(row, given), right(row, given)
        if a is None or b is None or a.keys() != b.keys():
            return sign == "<>"
        return compare(_plain(a), _plain(b))

    return test


def _operand(tokens: _Tokens) -> _Read:
    word = tokens.take()
    if word == "size":
        tokens.take("(")
        name = tokens.take()
        tokens.take(")")

        def size(row: Mapping[str, Value], given: Request) -> Value | None:
            value = row.get(_name(name, given))
            return {"N": str(len(next(iter(value.values()))))} if value else None

        return size
    if word == "if_not_exists":
        tokens.take("(")
        name = tokens.take()
        tokens.take(",")
        other = _operand(tokens)
        tokens.take(")")
        return lambda row, given: row.get(_name(name, given)) or other(row, given)
    if word.startswith(":"):
        return lambda _, given: given["ExpressionAttributeValues"][word]
    return lambda row, given: row.get(_name(word, given))


_Change = Callable[[Mapping[str, Value], Row, Request], None]


@lru_cache(1_024)
def _update(text: str) -> list[_Change]:
    tokens, changes, verb = _Tokens(text), list[_Change](), ""
    while tokens.left:
        if tokens.peek() in ("SET", "ADD", "REMOVE"):
            verb = tokens.take()
        elif tokens.peek() == ",":
            tokens.take()
        changes.append(_change(verb, tokens))
    return changes


def _change(verb: str, tokens: _Tokens) -> _Change:
    name = tokens.take()
    if verb == "REMOVE":
        return lambda _, after, given: after.pop(_name(name, given), None)
    if verb == "ADD":
        value = _operand(tokens)

        def add(row: Mapping[str, Value], after: Row, given: Request) -> None:
            added, place = value(row, given) or {}, _name(name, given)
            old = row.get(place)
            if "N" in added:
                total = _plain(added) + (_plain(old) if old else 0)
                after[place] = {"N": str(total)}
            else:
                after[place] = {"SS": sorted({*added["SS"], *(old["SS"] if old else ())})}

        return add
    tokens.take("=")
    first = _operand(tokens)
    second = None
    if tokens.peek() == "+":
        tokens.take()
        second = _operand(tokens)

    def assign(row: Mapping[str, Value], after: Row, given: Request) -> None:
        value = first(row, given)
        if value is None:
            raise ValueError(f"{name} is set to an attribute that is not there")
        if second is not None:
            value = {"N": str(_plain(value) + _plain(second(row, given) or {"N": "0"}))}
        after[_name(name, given)] = value

    return assign


def _name(word: str, given: Request) -> str:
    return str(given["ExpressionAttributeNames"][word]) if word.startswith("#") else word


def _plain(value: Value) -> Any:
    ((kind, inner),) = value.items()
    return int(inner) if kind == "N" else inner
