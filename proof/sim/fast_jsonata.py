"""A fast engine for the JSONata that the definition uses: its syntax tree as Python closures.

The library evaluates a tree step by step, which is four fifths of a walk's time. What is not known
here, and whatever fails, is evaluated by the library; the tests compare both on every expression
that walks evaluate.
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from jsonata.jsonata import Jsonata

from proof.asl.jsonata import UNDEFINED, Clock, Library, Undefined

Json = Any
# A context and the variables; the clock is the variable "".
_Run = Callable[[Any, dict[str, Any]], Any]


class _UnknownError(Exception):
    """Something that the library has to evaluate."""


class _Nothing:
    """The value of an expression that has none."""

    def __bool__(self) -> bool:
        return False


_NONE = _Nothing()


class _Sequence(list[Any]):
    """Returns the result of a path: one item is the item itself, and none is nothing."""


class _Constructed(list[Any]):
    """An array that the expression wrote as such: a path does not flatten it."""


class Fast:
    """The library, and in front of it what is compiled."""

    def __init__(self) -> None:
        self.library = Library()
        self._compiled: dict[str, _Run | None] = {}

    def evaluate(
        self, expression: str, bindings: Mapping[str, Json], clock: Clock
    ) -> Json | Undefined:
        if expression not in self._compiled:
            self._compiled[expression] = _compiled(expression)
        run = self._compiled[expression]
        if run is None or clock.step_ms:
            return self.library.evaluate(expression, bindings, clock)
        try:
            value = run(_NONE, {**bindings, "": clock.ms})
        except (_UnknownError, TypeError, ValueError, KeyError, IndexError, AttributeError):
            return self.library.evaluate(expression, bindings, clock)
        if type(value) in (bool, str, int):
            return value
        return UNDEFINED if value is _NONE else _plain(value)


def _compiled(expression: str) -> _Run | None:
    try:
        return _compile(Jsonata(expression).ast)
    except _UnknownError:
        return None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _UnknownError
        return int(value) if value.is_integer() and abs(value) < 1e21 else value
    if value is None or isinstance(value, str | int):
        return value
    raise _UnknownError


def _compile(node: Any) -> _Run:
    if getattr(node, "keep_array", False) or getattr(node, "group", None):
        raise _UnknownError
    if node.type not in _KINDS:
        raise _UnknownError
    run = _KINDS[node.type](node)
    for predicate in getattr(node, "predicate", None) or []:
        run = _filtered(run, predicate.expr)
    return run


def _settled(value: Any) -> Any:
    if isinstance(value, _Sequence):
        return value[0] if len(value) == 1 else value or _NONE
    return value


def _literal(node: Any) -> _Run:
    value = node.value
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None or str(value) == "null":
        raise _UnknownError
    return lambda _, __: value


def _variable(node: Any) -> _Run:
    name = str(node.value)
    if name == "$":
        raise _UnknownError
    if not name:
        return lambda context, _: context
    return lambda _, names: names.get(name, _NONE)


def _name(node: Any) -> _Run:
    name = str(node.value)

    def look_up(context: Any, _: dict[str, Any]) -> Any:
        if isinstance(context, dict):
            return context.get(name, _NONE)
        if isinstance(context, list):
            found = _Sequence()
            for item in context:
                value = look_up(item, _)
                if isinstance(value, list):
                    found.extend(value)
                elif value is not _NONE:
                    found.append(value)
            return _settled(found)
        return _NONE

    return look_up


def _path(node: Any) -> _Run:
    if getattr(node, "keep_singleton_array", False):
        raise _UnknownError
    steps = [(_step(step), bool(getattr(step, "consarray", False))) for step in node.steps]
    absolute = node.steps[0].type == "variable"
    is_plain = absolute and str(node.steps[0].value) not in ("", "$")
    for place, step in enumerate(node.steps):
        is_plain &= step.type == ("name" if place else "variable")
        is_plain &= not any(getattr(step, part, None) for part in ("stages", "predicate"))

    def follow(context: Any, names: dict[str, Any]) -> Any:
        items = context if isinstance(context, list) and not absolute else [context]
        for place, (step, is_array) in enumerate(steps):
            if place == 0 and is_array:
                items = step(items, names)
                if items is _NONE or not items:
                    return _NONE
                continue
            values = [value for item in items if (value := step(item, names)) is not _NONE]
            is_alone = place == len(steps) - 1 and len(values) == 1
            if is_alone and isinstance(values[0], list) and type(values[0]) is not _Sequence:
                return values[0]
            items = _Sequence()
            for value in values:
                if isinstance(value, list) and not isinstance(value, _Constructed):
                    items.extend(value)
                else:
                    items.append(value)
            if not items:
                return _NONE
        return _settled(items)

    if not is_plain:
        return follow
    first, *rest = (str(step.value) for step in node.steps)

    def follow_names(context: Any, names: dict[str, Any]) -> Any:
        """Nearly all paths are names, from one object into the next."""
        value = names.get(first, _NONE)
        for name in rest:
            if type(value) is not dict:
                return follow(context, names)
            value = value.get(name, _NONE)
        return follow(context, names) if isinstance(value, list) else value

    return follow_names


def _step(node: Any) -> _Run:
    if getattr(node, "focus", None) or getattr(node, "index", None) or getattr(node, "tuple", None):
        raise _UnknownError
    run = _compile(node)
    for stage in getattr(node, "stages", None) or []:
        if stage.type != "filter":
            raise _UnknownError
        run = _filtered(run, stage.expr)
    return run


def _filtered(run: _Run, predicate: Any) -> _Run:
    test = _compile(predicate)

    def keep(context: Any, names: dict[str, Any]) -> Any:
        value = run(context, names)
        if value is _NONE:
            return _NONE
        items = value if isinstance(value, list) else [value]
        if predicate.type == "number":
            place = math.floor(predicate.value)
            place = place + len(items) if place < 0 else place
            return items[place] if 0 <= place < len(items) else _NONE
        kept = _Sequence()
        for place, item in enumerate(items):
            result = test(item, names)
            if isinstance(result, list | float):
                raise _UnknownError
            if isinstance(result, int) and not isinstance(result, bool):
                if (result + len(items) if result < 0 else result) == place:
                    kept.append(item)
            elif _true(result):
                kept.append(item)
        return _settled(kept)

    return keep


def _true(value: Any) -> bool:
    if isinstance(value, list):
        return any(_true(item) for item in value)
    return bool(value)


def _unary(node: Any) -> _Run:
    sign = str(node.value)
    if sign == "[":
        items = [(_compile(item), str(item.value) == "[") for item in node.expressions]

        def array(context: Any, names: dict[str, Any]) -> Any:
            made = _Constructed()
            for item, nested in items:
                value = item(context, names)
                if isinstance(value, list) and not nested:
                    made.extend(value)
                elif value is not _NONE:
                    made.append(value)
            return made

        return array
    if sign != "{":
        raise _UnknownError
    pairs = [(_compile(name), _compile(value)) for name, value in node.lhs_object]

    def record(context: Any, names: dict[str, Any]) -> Any:
        if isinstance(context, list):
            raise _UnknownError
        made = {}
        for name, value in pairs:
            key = name(context, names)
            if key is _NONE:
                continue
            if not isinstance(key, str) or key in made:
                raise _UnknownError
            inner = value(context, names)
            if inner is not _NONE:
                made[key] = inner
        return made

    return record


def _binary(node: Any) -> _Run:
    sign, left, right = str(node.value), _compile(node.lhs), _compile(node.rhs)
    if sign == "and":
        return lambda c, n: _true(left(c, n)) and _true(right(c, n))
    if sign == "or":
        return lambda c, n: _true(left(c, n)) or _true(right(c, n))
    if sign not in _SIGNS:
        raise _UnknownError
    operate = _SIGNS[sign]
    return lambda c, n: operate(left(c, n), right(c, n))


def _equal(a: Any, b: Any) -> bool:
    if a is _NONE or b is _NONE:
        return False
    return (type(a) is type(b) and a == b) or (_is_number(a) and _is_number(b) and a == b)


def _unequal(a: Any, b: Any) -> bool:
    return a is not _NONE and b is not _NONE and not _equal(a, b)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Any]:
    def order(a: Any, b: Any) -> Any:
        if any(x is not _NONE and not (_is_number(x) or isinstance(x, str)) for x in (a, b)):
            raise _UnknownError
        if a is _NONE or b is _NONE:
            return _NONE
        if isinstance(a, str) is not isinstance(b, str):
            raise _UnknownError
        return compare(a, b)

    return order


def _arithmetic(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def result(a: Any, b: Any) -> Any:
        if any(x is not _NONE and not _is_number(x) for x in (a, b)):
            raise _UnknownError
        if a is _NONE or b is _NONE:
            return _NONE
        value = compute(a, b)
        if abs(value) > 2**53:  # JavaScript has no such whole numbers
            raise _UnknownError
        return int(value) if isinstance(value, float) and value.is_integer() else value

    return result


def _joined(a: Any, b: Any) -> str:
    return str(_text(a) if a is not _NONE else "") + str(_text(b) if b is not _NONE else "")


def _member(a: Any, b: Any) -> bool:
    if a is _NONE or b is _NONE:
        return False
    return any(_equal(a, item) for item in (b if isinstance(b, list) else [b]))


_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": _equal,
    "!=": _unequal,
    "<": _ordered(lambda a, b: a < b),
    "<=": _ordered(lambda a, b: a <= b),
    ">": _ordered(lambda a, b: a > b),
    ">=": _ordered(lambda a, b: a >= b),
    "+": _arithmetic(lambda a, b: a + b),
    "-": _arithmetic(lambda a, b: a - b),
    "*": _arithmetic(lambda a, b: a * b),
    "/": _arithmetic(lambda a, b: a / b),
    "&": _joined,
    "in": _member,
}


def _condition(node: Any) -> _Run:
    test, then = _compile(node.condition), _compile(node.then)
    other = _compile(node._else) if node._else is not None else lambda _, __: _NONE
    return lambda c, n: then(c, n) if _true(test(c, n)) else other(c, n)


def _block(node: Any) -> _Run:
    lines = [_compile(line) for line in node.expressions]

    def play(context: Any, names: dict[str, Any]) -> Any:
        names, value = dict(names), _NONE
        for line in lines:
            value = line(context, names)
        return value

    return play


def _bind(node: Any) -> _Run:
    name, value = str(node.lhs.value), _compile(node.rhs)

    def bind(context: Any, names: dict[str, Any]) -> Any:
        names[name] = value(context, names)
        return names[name]

    return bind


def _lambda(node: Any) -> _Run:
    if getattr(node, "signature", None):
        raise _UnknownError
    if getattr(node, "thunk", False):  # the library's loop for a call at a function's end
        return _compile(node.body)
    body, given = _compile(node.body), [str(argument.value) for argument in node.arguments]

    def make(context: Any, names: dict[str, Any]) -> Any:
        def call(*values: Any) -> Any:
            return body(context, {**names, **dict(zip(given, values, strict=False))})

        return call

    return make


def _function(node: Any) -> _Run:
    name = str(node.procedure.value)
    arguments = [_compile(a) for a in node.arguments if not _is_builtin(a)]
    if name == "millis" and not arguments:
        return lambda _, names: names[""]
    if name == "map" and len(node.arguments) == 2 and _is_builtin(node.arguments[1]):
        each = _FUNCTIONS[str(node.arguments[1].value)][1]
        return lambda c, n: _map(arguments[0](c, n), lambda item, *_: each(item))
    if name not in _FUNCTIONS or len(arguments) != _FUNCTIONS[name][0]:
        raise _UnknownError
    call = _FUNCTIONS[name][1]
    if len(arguments) == 1:
        (only,) = arguments
        return lambda c, n: call(only(c, n))
    return lambda c, n: call(*(argument(c, n) for argument in arguments))


def _is_builtin(node: Any) -> bool:
    return node.type == "variable" and str(node.value) in _FUNCTIONS


def _text(value: Any) -> Any:
    if value is _NONE or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    _check_numbers(value)
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))


def _check_numbers(value: Any) -> None:
    """Leaves numbers to the library that Python writes in another way than JavaScript."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            _check_numbers(inner)
    elif _is_number(value) and ("e" in repr(value) or len(repr(value)) > 15):
        raise _UnknownError


def _number(value: Any) -> Any:
    if value is _NONE or _is_number(value):
        return value
    if not isinstance(value, str) or not value.lstrip("-").isdigit():
        raise _UnknownError
    return int(value)


def _numbers(choose: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def result(values: Any) -> Any:
        if values is _NONE:
            return _NONE
        values = values if isinstance(values, list) else [values]
        if not values or not all(_is_number(value) for value in values):
            raise _UnknownError
        return choose(values)

    return result


def _rounded(to_whole: Callable[[Any], int]) -> Callable[[Any], Any]:
    def result(value: Any) -> Any:
        if value is _NONE:
            return value
        if not _is_number(value):
            raise _UnknownError
        return to_whole(value)

    return result


def _merge(values: Any) -> Any:
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise _UnknownError
    return {name: inner for value in values for name, inner in value.items()}


def _map(values: Any, each: Callable[..., Any]) -> Any:
    if values is _NONE:
        return _NONE
    items = values if isinstance(values, list) else [values]
    results = [each(item, place, items) for place, item in enumerate(items)]
    return _settled(_Sequence(result for result in results if result is not _NONE))


def _sift(values: Any, keep: Callable[..., Any]) -> Any:
    if not isinstance(values, dict):
        raise _UnknownError
    kept = {name: inner for name, inner in values.items() if _true(keep(inner, name, values))}
    return kept or _NONE


def _split(text: Any, separator: Any) -> Any:
    if text is _NONE:
        return _NONE
    if not isinstance(text, str) or not isinstance(separator, str) or not separator:
        raise _UnknownError
    return text.split(separator)


def _parse(text: Any) -> Any:
    return _NONE if text is _NONE else json.loads(text)


def _error(_: Any) -> Any:
    raise _UnknownError


def _type(value: Any) -> Any:
    if value is _NONE:
        return _NONE
    kinds = {dict: "object", str: "string", bool: "boolean", int: "number", float: "number"}
    return "array" if isinstance(value, list) else kinds[type(value)]


def _count(value: Any) -> int:
    return 0 if value is _NONE else len(value) if isinstance(value, list) else 1


def _keys(value: Any) -> Any:
    if not isinstance(value, dict):
        raise _UnknownError
    return _settled(_Sequence(value))


_FUNCTIONS: dict[str, tuple[int, Callable[..., Any]]] = {
    "string": (1, _text),
    "number": (1, _number),
    "exists": (1, lambda value: value is not _NONE),
    "not": (1, lambda value: _NONE if value is _NONE else not _true(value)),
    "merge": (1, _merge),
    "max": (1, _numbers(max)),
    "min": (1, _numbers(min)),
    "sum": (1, _numbers(sum)),
    "floor": (1, _rounded(math.floor)),
    "ceil": (1, _rounded(math.ceil)),
    "abs": (1, lambda value: value if value is _NONE else abs(value)),
    "error": (1, _error),
    "parse": (1, _parse),
    "split": (2, _split),
    "map": (2, _map),
    "sift": (2, _sift),
    "type": (1, _type),
    "count": (1, _count),
    "keys": (1, _keys),
}
_KINDS: dict[str, Callable[[Any], _Run]] = {
    "string": _literal,
    "number": _literal,
    "value": _literal,
    "variable": _variable,
    "name": _name,
    "path": _path,
    "unary": _unary,
    "binary": _binary,
    "condition": _condition,
    "block": _block,
    "bind": _bind,
    "lambda": _lambda,
    "function": _function,
}
