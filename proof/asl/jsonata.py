"""JSONata by either of two engines behind one interface: the jsonata-python library, and the
reference implementation in node, in the version that Step Functions names (transforming-data.html).
"""

import json
import shutil
import subprocess
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from hashlib import new as new_hash
from itertools import count
from math import floor, isfinite
from pathlib import Path
from random import Random
from typing import IO, Any, Protocol, cast

from jsonata.jsonata import Jsonata
from jsonata.utils import Utils

Json = Any
FOLDER = Path(__file__).parent / "node"
_HASHES = {
    "MD5": "md5",
    "SHA-1": "sha1",
    "SHA-256": "sha256",
    "SHA-384": "sha384",
    "SHA-512": "sha512",
}
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

    def __init__(self, random: Random | None = None) -> None:
        self._random = random or Random()  # noqa: S311 - no secret

    def evaluate(
        self, expression: str, bindings: Mapping[str, Json], clock: Clock
    ) -> Json | Undefined:
        try:
            compiled = _compiled(expression)
            Jsonata.CURRENT.jsonata = compiled  # whose functions run in this thread
            # The library takes a variable that is None for one that is not there.
            seen = {n: Utils.NULL_VALUE if v is None else v for n, v in bindings.items()}
            value = compiled.evaluate(None, seen | self._functions(clock))
        except RecursionError as error:
            raise QueryError("Stack overflow error") from error
        except Exception as error:
            raise QueryError(f"{error}") from error
        if value is None:
            return UNDEFINED
        return _json(Utils.convert_nulls(value))

    def _functions(self, clock: Clock) -> dict[str, Any]:
        calls = count()

        def millis() -> int:
            return clock.ms + clock.step_ms * next(calls)

        functions: dict[str, Callable[..., Any]] = {
            "millis": millis,
            "now": lambda: iso(millis()),
            "hash": _hash,
            "partition": _partition,
            "range": _range,
            "random": self._draw,
            "parse": _parse,
            "uuid": lambda: str(uuid.UUID(int=self._random.getrandbits(128), version=4)),
        }
        return {name: Jsonata.JLambda(function) for name, function in functions.items()}

    def _draw(self, seed: float | None = None) -> float:
        if seed is None:
            return self._random.random()
        return float(int(_hash(str(floor(seed)), "SHA-256")[:13], 16) / 16**13)


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
    def create_frame(self, parent: Jsonata.Frame) -> _Frame:
        return _Frame(parent)


@cache
def _compiled(expression: str) -> Any:
    compiled = _Compiled(expression)
    # Otherwise null and no value at all would both be None.
    compiled.set_output_convert_nulls(False)
    return compiled


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


def _hash(text: str, algorithm: str) -> str:
    if not isinstance(text, str) or algorithm not in _HASHES:
        raise QueryError(f"$hash knows no {algorithm}")
    return new_hash(_HASHES[algorithm], text.encode(), usedforsecurity=False).hexdigest()


def _partition(items: list[Json], size: float) -> list[list[Json]]:
    step = floor(size)
    if step <= 0:
        raise QueryError("$partition needs a size above 0")
    return [list(items[at : at + step]) for at in range(0, len(items), step)]


def _range(first: float, last: float, delta: float) -> list[int]:
    step = floor(delta)
    if step == 0:
        raise QueryError("$range needs a step")
    return list(range(floor(first), floor(last) + (1 if step > 0 else -1), step))


def _parse(text: str | None = None) -> Json:
    if text is None:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise QueryError("$parse was given no JSON") from error
