"""The deployed definition, with production's numbers, on our interpreter."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml

from proof.asl.jsonata import Clock, Library, QueryError, Undefined
from proof.asl.machine import Machine
from proof.definition.asl import ROOT

PATH = ROOT / "statemachine" / "once.asl.yaml"
SUBSTITUTIONS = {
    "Partition": "aws",
    "ClaimTable": "claims",
    "EventQueueUrl": "events",
    "DeadLetterQueueUrl": "dead-letters",
    "DataActionFunction": "data-action",
    "OutcomeLogGroup": "outcomes",
    "OutcomeLogStream": "outcomes",
    "StackName": "genesys-once",
    "ClaimDays": "30",
    "WaitDays": "10",
    "WaitSeconds": "1, 3, 6",
    "BeginSeconds": "40",
    "LeaseSeconds": "140",
}


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


def text() -> str:
    return PATH.read_text()


def definition_of(source: str) -> dict[str, Any]:
    filled = re.sub(r"\$\{(\w+)\}", lambda name: SUBSTITUTIONS[name[1]], source)
    loaded: dict[str, Any] = yaml.load(filled, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return loaded


def machine_of(definition: Mapping[str, Any]) -> Machine:
    return Machine(definition, ENGINE, draw=lambda: 0.5)


@cache
def machine() -> Machine:
    return machine_of(definition_of(text()))
