"""The deployed definition, with production's numbers, on our interpreter."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml

from proof.asl.errors import StateFailedError
from proof.asl.expressions import Expressions
from proof.asl.jsonata import Clock, Engine
from proof.asl.machine import Machine
from proof.definition.asl import ROOT
from proof.sim.fast_jsonata import Fast
from proof.sim.function import Function

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


class _Expressions(Expressions):
    """Notes expressions that fail, which a Catch would hide. Remembers nothing: to look up what
    an expression came to takes longer than to evaluate it."""

    def __init__(self) -> None:
        super().__init__(Fast())
        self.failures: list[str] = []

    @property
    def engine(self) -> Engine:
        return self._engine

    @engine.setter
    def engine(self, engine: Engine) -> None:
        self._engine = engine

    def _value(self, *given: Any) -> Any:
        try:
            return super()._value(*given)
        except StateFailedError as error:
            self.failures.append(str(error))
            raise

    def _evaluated(
        self, text: str, _: frozenset[str], bindings: Mapping[str, Any], clock: Clock
    ) -> Any:
        return self._asked(text, bindings, clock)


EXPRESSIONS = _Expressions()


def text() -> str:
    return PATH.read_text()


def definition_of(source: str) -> dict[str, Any]:
    filled = re.sub(r"\$\{(\w+)\}", lambda name: SUBSTITUTIONS[name[1]], source)
    loaded: dict[str, Any] = yaml.load(filled, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return loaded


def machine_of(definition: Mapping[str, Any]) -> Machine:
    return Machine(definition, EXPRESSIONS, draw=lambda: 0.5)


@cache
def machine() -> Machine:
    return machine_of(definition_of(text()))


def functions(per_minute: int = 0, most_tries: int = 3) -> Function:
    return Function(per_minute, most_tries)
