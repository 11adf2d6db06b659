"""JSONata by either of two engines behind one interface: the jsonata-python library, and the
reference implementation in node, in the version that Step Functions names (transforming-data.html).
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from math import isfinite
from pathlib import Path
from typing import IO, Any, Protocol, cast

from jsonata.functions import Functions
from jsonata.jsonata import Jsonata
from jsonata.utils import Utils

Json = Any
FOLDER = Path(__file__).parent / "node"
_MOST_EXACT = 1e21


class Undefined:
    """The value of an expression that has none; JSON cannot hold it, and null is another thing."""

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = Undefined()


class QueryError(Exception):
    """An expression that cannot be evaluated."""


class ReferenceMissingError(Exception):
    """There is no node, or no reference implementation for it to run."""


@dataclass(frozen=True)
class Clock:
    """The clock of $millis(): first `ms`, then `step_ms` more at each evaluation."""

    ms: int
    step_ms: int = 0


class Engine(Protocol):
    def evaluate(
        self, expression: str, bindings: Mapping[str, Json], clock: Clock
    ) -> Json | Undefined:
        """The expression's value, or raises QueryError."""


class Library:
    """jsonata-python, in this process: one thread at a time, as its parsed expressions are."""

    def evaluate(
        self, expression: str, bindings: Mapping[str, Json], clock: Clock
    ) -> Json | Undefined:
        try:
            value = _compiled(expression).value(bindings, clock)
        except RecursionError as error:
            raise QueryError("Stack overflow error") from error
        except Exception as error:
            raise QueryError(f"{error}") from error
        return UNDEFINED if value is None else _json(Utils.convert_nulls(value))


class Reference:
    """npm's jsonata in a node process that lives as long as this object, or its `with`."""

    def __init__(self) -> None:
        node = shutil.which("node")
        if node is None or not (FOLDER / "node_modules" / "jsonata").is_dir():
            raise ReferenceMissingError(
                "The reference JSONata is not there. Install node 18 or later, "
                "then run `make jsonata`, which needs npm and its registry."
            )
        self._process = subprocess.Popen(
            [node, str(FOLDER / "evaluate.mjs")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._asked = cast(IO[str], self._process.stdin)
        self._answered = cast(IO[str], self._process.stdout)

    def evaluate(
        self, expression: str, bindings: Mapping[str, Json], clock: Clock
    ) -> Json | Undefined:
        question = {
            "expression": expression,
            "bindings": bindings,
            "clock_ms": clock.ms,
            "step_ms": clock.step_ms,
        }
        self._asked.write(json.dumps(question) + "\n")
        self._asked.flush()
        line = self._answered.readline()
        if not line:
            raise RuntimeError(f"node ended with {self._process.wait()} at {expression}")
        answer = json.loads(line)
        if "code" in answer:
            raise QueryError(f"{answer['code']}: {answer['message']}")
        return _json(answer["value"]) if "value" in answer else UNDEFINED

    def close(self) -> None:
        self._asked.close()
        self._answered.close()
        self._process.wait()

    def __enter__(self) -> "Reference":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@lru_cache(1_024)
def iso(ms: int) -> str:
    """A time as Step Functions and JSONata write it, in UTC."""
    return datetime.fromtimestamp(ms / 1_000, UTC).isoformat(timespec="milliseconds")[:23] + "Z"


# The library says nothing of its types, so mypy knows no base class.
class _Frame(Jsonata.Frame):  # type: ignore[misc]
    """Says at once that nobody listens: the library asks at every step, of one frame after another
    until one has an answer."""

    def __init__(self, parent: Jsonata.Frame) -> None:
        super().__init__(parent)
        self.bindings = {"__evaluate_entry": None, "__evaluate_exit": None}


class _Compiled(Jsonata):  # type: ignore[misc]
    """A parsed expression. Nearly all nodes of ours are constants, variables, names of objects and
    simple functions, which are evaluated here, without the library's questions at each node. The
    library evaluates all other nodes, and these if their values are unusual."""

    def __init__(self, expression: str) -> None:
        super().__init__(expression)
        self.register_lambda("parse", _parse)
        self.register_lambda("millis", self.millis)
        self.register_lambda("now", lambda: iso(self.millis()))
        self._outermost: _Frame = self.environment

    def value(self, bindings: Mapping[str, Json], clock: Clock) -> Any:
        Jsonata.CURRENT.jsonata = self  # whose functions run in this thread
        self._clock, self._looks, self.environment = clock, 0, self._outermost
        frame = _Frame(self._outermost)
        frame.bindings.update(bindings)
        if None in bindings.values():
            # The library takes a variable that is None for one that is not there.
            nulls = (name for name, value in bindings.items() if value is None)
            frame.bindings.update(dict.fromkeys(nulls, Utils.NULL_VALUE))
        return self.eval(self.ast, None, frame)

    def millis(self) -> int:
        self._looks += 1
        return self._clock.ms + self._clock.step_ms * (self._looks - 1)

    def create_frame(self, parent: Jsonata.Frame) -> _Frame:
        return _Frame(parent)

    def eval(self, node: Any, given: Any, frame: _Frame) -> Any:
        try:
            shortcut = node.shortcut
        except AttributeError:
            shortcut = node.shortcut = _shortcut(node)
        if shortcut:
            value = shortcut(self, given, frame)
            if value is not _UNUSUAL:
                return value
        return self._eval(node, given, frame)


_UNUSUAL = object()
_Shortcut = Callable[[_Compiled, Any, _Frame], Any]


def _shortcut(node: Any) -> _Shortcut | None:
    if getattr(node, "predicate", None) or getattr(node, "group", None) or node.keep_array:
        return None
    match node.type:
        case "string" | "number" if node.value is not None:
            return lambda _, __, ___: node.value
        case "variable" if node.value not in ("", "$"):
            return lambda _, __, frame: frame.lookup(node.value)
        case "path":
            return _path(node)
        case "condition":
            return lambda self, given, frame: self.evaluate_condition(node, given, frame)
        case "block":
            return lambda self, given, frame: self.evaluate_block(node, given, frame)
        case "bind":
            return lambda self, given, frame: self.evaluate_bind_expression(node, given, frame)
        case "binary" if node.value != "..":
            return lambda self, given, frame: self.evaluate_binary(node, given, frame)
        case "function":
            return _function(node)
    return None


def _function(node: Any) -> _Shortcut | None:
    name, arguments = node.procedure.value, node.arguments
    if name == "millis" and not arguments:
        return lambda self, _, __: self.millis()
    if name not in _FUNCTIONS or len(arguments) != 1:
        return None
    function, argument = _FUNCTIONS[name], arguments[0]
    return lambda self, given, frame: function(self.eval(argument, given, frame))


def _path(node: Any) -> _Shortcut | None:
    """Follows names of objects, and places of lists, from a variable on."""
    variable = node.steps[0]
    if variable.type != "variable" or variable.value in ("", "$") or node.keep_singleton_array:
        return None
    places: list[Any] = []
    for step in node.steps:
        filters = getattr(step, "stages", None) or []
        if any(getattr(step, part, None) for part in ("predicate", "focus", "index", "tuple")):
            return None
        if step.type != "name" and (step is not variable or filters):
            return None
        if [stage.expr.type for stage in filters] not in ([], ["number"]):
            return None
        if step is not variable:
            places += [str(step.value), *(stage.expr.value for stage in filters)]

    def follow(_: _Compiled, __: Any, frame: _Frame) -> Any:
        value = frame.lookup(variable.value)
        for place in places:
            if type(value) is dict and type(place) is str:
                if place not in value:
                    return None
            elif type(value) is not list or type(place) is not int or place >= len(value):
                return _UNUSUAL
            value = value[place]
        return _UNUSUAL if value is None or isinstance(value, list) else value

    return follow


def _string(value: Any) -> Any:
    is_short = type(value) is int and -(10**15) < value < 10**15
    return str(value) if is_short else Functions.string(value, None)


def _number(value: Any) -> Any:
    is_short = type(value) is str and value.isascii() and value.isdecimal() and len(value) < 16
    return int(value) if is_short else _UNUSUAL


_FUNCTIONS: Mapping[str, Callable[[Any], Any]] = {
    "string": _string,
    "exists": lambda value: value is not None,
    "number": _number,
}


@cache
def _compiled(expression: str) -> _Compiled:
    return _Compiled(expression)


def _json(value: Any) -> Json:
    """The value in plain JSON: without the library's own list types, and with whole numbers as
    integers, since JSON does not tell 2 from 2.0."""
    if isinstance(value, dict):
        return {name: _json(inner) for name, inner in value.items()}
    if isinstance(value, list | range):
        return [_json(inner) for inner in value]
    if isinstance(value, float):
        if not isfinite(value):
            raise QueryError(f"{value} is no JSON")
        return int(value) if value.is_integer() and abs(value) < _MOST_EXACT else value
    if value is None or isinstance(value, str | bool | int):
        return value
    raise QueryError(f"a {type(value).__name__} is no JSON")


def _parse(text: str | None = None) -> Json:
    """Step Functions adds this function to JSONata (transforming-data.html). Its others are not in
    our definition, and not here."""
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise QueryError("$parse was given no JSON") from error
