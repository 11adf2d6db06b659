"""The state machine's definition as data: read once, placeholders filled in."""

import copy
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
ASL_PATH = ROOT / "statemachine" / "once.asl.yaml"

# What the template fills in, with production's numbers.
SUBSTITUTIONS: Mapping[str, str] = {
    "Partition": "aws",
    "ClaimTable": "claims",
    "EventQueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/events",
    "DeadLetterQueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/dead-letters",
    "DataActionFunction": "arn:aws:lambda:us-east-1:123456789012:function:data-action",
    "OutcomeLogGroup": "outcomes",
    "OutcomeLogStream": "outcomes",
    "StackName": "genesys-once",
    "ClaimDays": "30",
    "WaitDays": "10",
    "WaitSeconds": "1, 3, 6",
    "BeginSeconds": "40",
    "LeaseSeconds": "140",
}


def definition_text(substitutions: Mapping[str, str] = SUBSTITUTIONS) -> str:
    return _filled(ASL_PATH.read_text(), substitutions)


def definition(
    substitutions: Mapping[str, str] = SUBSTITUTIONS, text: str | None = None
) -> dict[str, Any]:
    """Returns the definition, or a changed text of it."""
    return copy.deepcopy(_loaded(_filled(text or ASL_PATH.read_text(), substitutions)))


def _filled(text: str, substitutions: Mapping[str, str]) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda name: substitutions[name[1]], text)


@cache
def _loaded(text: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return loaded


def states(machine: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """Every state by name."""
    return dict((machine or definition())["States"])


def strings(value: Any) -> Iterator[str]:
    """Every string anywhere inside a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
