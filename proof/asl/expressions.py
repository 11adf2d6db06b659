"""Fills in `{% … %}` wherever it stands in a field."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proof.asl.errors import QUERY, StateFailedError
from proof.asl.jsonata import Clock, Engine, QueryError, Undefined
from proof.asl.readings import Millis

Json = Any


@dataclass
class Moment:
    """The time at which a state evaluates some of its expressions, one after another."""

    clock_ms: int
    reading: Millis
    _evaluated: int = 0

    def clock(self) -> Clock:
        if self.reading is Millis.STATE:
            return Clock(self.clock_ms)
        # The next expression comes a little later, as it does on AWS.
        self._evaluated += 1
        step_ms = 1 if self.reading is Millis.CALL else 0
        return Clock(self.clock_ms + self._evaluated - 1, step_ms)


def fill(
    template: Json, engine: Engine, bindings: Mapping[str, Json], moment: Moment, field: str
) -> Json:
    """Returns the template with every expression replaced by its value. `field` says in an error
    where that was."""
    if isinstance(template, str):
        if not is_expression(template):
            return template
        return _value(template[2:-2].strip(), engine, bindings, moment.clock(), field)
    if isinstance(template, Mapping):
        return {
            name: fill(inner, engine, bindings, moment, f"{field}/{name}")
            for name, inner in template.items()
        }
    if isinstance(template, list):
        return [
            fill(inner, engine, bindings, moment, f"{field}[{place}]")
            for place, inner in enumerate(template)
        ]
    return template


def _value(
    text: str, engine: Engine, bindings: Mapping[str, Json], clock: Clock, field: str
) -> Json:
    try:
        value = engine.evaluate(text, bindings, clock)
    except QueryError as error:
        reason = f"threw an error during evaluation. {error}"
    else:
        if not isinstance(value, Undefined):
            return value
        reason = "returned nothing (undefined)."
    cause = f"The JSONata expression '{text}' specified for the field '{field}' {reason}"
    raise StateFailedError(QUERY, cause)


def is_expression(text: str) -> bool:
    """transforming-data.html, "Writing JSONata expressions in JSON strings"."""
    return text.startswith("{%") and text.endswith("%}")
