"""The deployed definition, with production's numbers, on our interpreter."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from proof.asl.jsonata import Clock, Library, QueryError, Undefined
from proof.asl.machine import Machine
from proof.definition.asl import definition


class _Engine(Library):
    """Notes expressions that fail, which a Catch would hide."""

    def __init__(self) -> None:
        self.failures: list[str] = []

    def evaluate(self, expression: str, bindings: Mapping[str, Any], clock: Clock) -> Any:
        try:
            value = super().evaluate(expression, bindings, clock)
        except QueryError as error:
            self.failures.append(f"{expression}: {error}")
            raise
        if isinstance(value, Undefined):
            self.failures.append(f"{expression} has no value")
        return value


ENGINE = _Engine()


def machine_of(definition: Mapping[str, Any]) -> Machine:
    return Machine(definition, ENGINE, draw=lambda: 0.5)


@cache
def machine() -> Machine:
    return machine_of(definition())
