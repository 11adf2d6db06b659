"""JSONata, evaluated by the jsonata-python library and remembered by what an expression sees."""

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from jsonata import Jsonata

_USED_VARIABLE = re.compile(r"\$([A-Za-z_]\w*)")
_USED_PART_OF_STATES = re.compile(r"\$states\.(\w+)")


class UndefinedResultError(Exception):
    """An expression had no value, at which Step Functions fails the state."""


_known: dict[tuple[str, str], Any] = {}


def fill(
    template: Any, variables: Mapping[str, Any], states: Mapping[str, Any], clock_ms: int
) -> Any:
    """Fills in `{% … %}` anywhere inside a template value."""
    if isinstance(template, str):
        if template.startswith("{%") and template.endswith("%}"):
            return _evaluate(template[2:-2].strip(), variables, states, clock_ms)
        return template
    if isinstance(template, Mapping):
        return {name: fill(inner, variables, states, clock_ms) for name, inner in template.items()}
    if isinstance(template, list):
        return [fill(inner, variables, states, clock_ms) for inner in template]
    return template


def _evaluate(
    text: str, variables: Mapping[str, Any], states: Mapping[str, Any], clock_ms: int
) -> Any:
    compiled, names, parts = _compiled(text)
    bindings = {name: variables[name] for name in names if name in variables}
    bindings["states"] = {part: states[part] for part in parts if part in states}
    seen = json.dumps([bindings, clock_ms if "millis" in names else None], sort_keys=True)
    if (text, seen) not in _known:
        bindings["millis"] = Jsonata.JLambda(lambda: clock_ms)
        result = compiled.evaluate(None, bindings)
        if result is None:
            raise UndefinedResultError(f"{text} has no value")
        # The library answers with its own list types; what a state keeps is JSON.
        _known[text, seen] = json.loads(json.dumps(result))
    return _known[text, seen]


@cache
def _compiled(text: str) -> tuple[Any, frozenset[str], frozenset[str]]:
    return (
        Jsonata(text),
        frozenset(_USED_VARIABLE.findall(text)),
        frozenset(_USED_PART_OF_STATES.findall(text)),
    )
