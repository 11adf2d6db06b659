"""Conditions and updates of DynamoDB on a single row. Their language is nearly Python's: each
expression is translated once, and evaluated on values that compare as DynamoDB's do.

The tests compare it with moto's evaluator on every request that walks make.
"""

import re
from collections.abc import Mapping
from functools import cache
from types import CodeType
from typing import Any

Value = Mapping[str, Any]  # {"S": "text"}, {"N": "1"} or {"SS": ["a", "b"]}
Row = dict[str, Any]
Key = tuple[str, str]
Request = Mapping[str, Any]

_TOKEN = re.compile(r"<>|<=|>=|[=<>(),+]|[#:]?[A-Za-z_]\w*")
_SIGNS = {"AND": "and", "OR": "or", "NOT": "not", "=": "==", "<>": "!="}
_VERBS = re.compile(r"\b(SET|ADD|REMOVE)\b")
_COMMA = re.compile(r",(?![^(]*\))")


class RefusedError(Exception):
    """The condition of a write did not hold."""


def key_of(request: Request) -> Key:
    """Returns the key of the row that a request is about."""
    key = request.get("Key") or request["Item"]
    return key["pk"]["S"], key["sk"]["S"]


def written(verb: str, request: Request, row: Row | None) -> Row | None:
    """Returns the row after a write, or None if the write deletes it."""
    operands = _Operands(row or {}, request)
    condition = request.get("ConditionExpression")
    if condition and not operands.value(condition):
        raise RefusedError
    if verb == "put":
        return dict(request["Item"])
    if verb == "delete":
        return None
    after = dict(row or request["Key"])
    for change, name, text in _changes(request["UpdateExpression"]):
        name = operands.names.get(name, name)
        if change == "REMOVE":
            after.pop(name, None)
            continue
        value = operands.value(text)
        if change == "ADD" and name in after:
            old = _plain(after[name])
            value = value | old if isinstance(value, frozenset) else value + old
        after[name] = _typed(value)
    return after


class _Missing:
    """An attribute that is not there: it equals nothing, and nothing is above or below it."""

    def __eq__(self, _: object) -> bool:
        return False

    __lt__ = __le__ = __gt__ = __ge__ = __eq__
    __hash__ = None  # type: ignore[assignment] # it is only compared


_MISSING = _Missing()


class _Operands(dict[str, Any]):
    """The attributes and values of a request, by their names in a translated expression."""

    def __init__(self, row: Mapping[str, Value], request: Request) -> None:
        super().__init__(
            attribute_exists=lambda value: value is not _MISSING,
            attribute_not_exists=lambda value: value is _MISSING,
            size=lambda value: _MISSING if value is _MISSING else len(value),
            if_not_exists=lambda value, other: other if value is _MISSING else value,
        )
        self._row, self._values = row, request.get("ExpressionAttributeValues", {})
        self.names = request.get("ExpressionAttributeNames", {})

    def __missing__(self, word: str) -> Any:
        kind, _, name = word.partition("_")
        if kind == "value":
            return _plain(self._values[f":{name}"])
        name = self.names[f"#{name}"] if kind == "name" else name
        return _plain(self._row[name]) if name in self._row else _MISSING

    def value(self, text: str) -> Any:
        return eval(_translated(text), {"__builtins__": {}}, self)  # noqa: S307 - our definition


@cache
def _translated(text: str) -> CodeType:
    tokens = _TOKEN.findall(text)
    if "".join(tokens) != re.sub(r"\s", "", text):
        raise ValueError(f"an expression with unknown signs: {text}")
    is_called = [following == "(" for following in [*tokens[1:], ""]]
    words = (_word(token, called) for token, called in zip(tokens, is_called, strict=True))
    return compile(" ".join(words), text, "eval")


def _word(token: str, is_called: bool) -> str:
    if token in _SIGNS:
        return _SIGNS[token]
    if is_called or not token[-1].isalnum():
        return token
    kinds = {":": "value_", "#": "name_"}
    return kinds[token[0]] + token[1:] if token[0] in kinds else f"plain_{token}"


@cache
def _changes(text: str) -> list[tuple[str, str, str]]:
    """Lists the changes of an update: the verb, the attribute, and its new value."""
    _, *parts = _VERBS.split(text)
    changes = []
    for verb, part in zip(parts[::2], parts[1::2], strict=True):
        for change in _COMMA.split(part):
            name, _, value = re.sub(r"\s*=\s*", " ", change.strip(), count=1).partition(" ")
            changes.append((verb, name, value))
    return changes


def _plain(value: Value) -> Any:
    ((kind, inner),) = value.items()
    return int(inner) if kind == "N" else frozenset(inner) if kind == "SS" else inner


def _typed(value: Any) -> Value:
    if isinstance(value, frozenset):
        return {"SS": sorted(value)}
    if isinstance(value, int):
        return {"N": str(value)}
    if isinstance(value, str):
        return {"S": value}
    raise ValueError("an attribute is set to one that is not there")
