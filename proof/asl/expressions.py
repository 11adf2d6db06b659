"""Fills in `{% … %}` wherever it stands in a field, and remembers what came of it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from proof.asl.errors import QUERY, StateFailedError
from proof.asl.jsonata import Clock, Engine, QueryError, Undefined
from proof.asl.readings import Millis

Json = Any
_VARIABLE = re.compile(r"\$(\w+)")
_PART_OF_STATES = re.compile(r"\$states\b((?:\.\w+)*)")
_BY_CHANCE = {"random", "uuid", "shuffle"}
_BY_THE_CLOCK = {"millis", "now"}


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


class Expressions:
    """An engine that evaluates each expression once for the same values."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: dict[tuple[str, str], Json | Undefined | QueryError] = {}

    def fill(
        self,
        template: Json,
        variables: Mapping[str, Json],
        states: Mapping[str, Json],
        moment: Moment,
        field: str,
    ) -> Json:
        """The template with every expression replaced by its value. `field` says in an error where
        that was."""
        if isinstance(template, str) and is_expression(template):
            return self._value(template[2:-2].strip(), variables, states, moment, field)
        if isinstance(template, Mapping):
            return {
                name: self.fill(inner, variables, states, moment, f"{field}/{name}")
                for name, inner in template.items()
            }
        if isinstance(template, list):
            return [
                self.fill(inner, variables, states, moment, f"{field}[{place}]")
                for place, inner in enumerate(template)
            ]
        return template

    def _value(
        self,
        text: str,
        variables: Mapping[str, Json],
        states: Mapping[str, Json],
        moment: Moment,
        field: str,
    ) -> Json:
        names, parts = _uses(text)
        bindings = {name: variables[name] for name in names if name in variables}
        if parts:
            bindings["states"] = _pruned(states, parts)
        value = self._evaluated(text, names, bindings, moment.clock())
        if isinstance(value, QueryError):
            cause = f"The JSONata expression '{text}' specified for the field '{field}' threw an error during evaluation. {value}"  # noqa: E501
            raise StateFailedError(QUERY, cause)
        if isinstance(value, Undefined):
            cause = f"The JSONata expression '{text}' specified for the field '{field}' returned nothing (undefined)."  # noqa: E501
            raise StateFailedError(QUERY, cause)
        return value

    def _evaluated(
        self, text: str, names: frozenset[str], bindings: Mapping[str, Json], clock: Clock
    ) -> Json | Undefined | QueryError:
        if names & _BY_CHANCE:
            return self._asked(text, bindings, clock)
        time = [clock.ms, clock.step_ms] if names & _BY_THE_CLOCK else None
        at = (text, repr([bindings, time]))
        if at not in self._known:
            self._known[at] = self._asked(text, bindings, clock)
        return self._known[at]

    def _asked(
        self, text: str, bindings: Mapping[str, Json], clock: Clock
    ) -> Json | Undefined | QueryError:
        try:
            return self._engine.evaluate(text, bindings, clock)
        except QueryError as error:
            return error


def is_expression(text: str) -> bool:
    """transforming-data.html, "Writing JSONata expressions in JSON strings"."""
    return text.startswith("{%") and text.endswith("%}")


@cache
def _uses(text: str) -> tuple[frozenset[str], frozenset[tuple[str, ...]]]:
    """The names of an expression, and which parts of $states."""
    parts = {tuple(path.split(".")[1:]) for path in _PART_OF_STATES.findall(text)}
    return frozenset(_VARIABLE.findall(text)) - {"states"}, frozenset(parts)


def _pruned(states: Mapping[str, Json], parts: Iterable[tuple[str, ...]]) -> Json:
    """Keeps only what the expression reads: inputs that differ elsewhere share its value."""
    kept: dict[str, Json] = {}
    for part in parts:
        if not part:
            return dict(states)
        name, *below = part
        if name not in states:
            continue
        if name == "context" and len(below) >= 2:
            section, field, *_ = below
            context = kept.setdefault("context", {})
            if field in states["context"].get(section, {}):
                context.setdefault(section, {})[field] = states["context"][section][field]
        elif name != "context":
            kept[name] = states[name]
    if any(part[0] == "context" and len(part) < 3 for part in parts):
        kept["context"] = states["context"]
    return kept
