"""The state machine's definition as data: read once, placeholders filled in, states flattened."""

import copy
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
ASL_PATH = ROOT / "statemachine" / "dedupe.asl.yaml"

# What the template fills in, with production's numbers.
SUBSTITUTIONS: Mapping[str, str] = {
    "Partition": "aws",
    "ClaimTable": "claims",
    "ParkingQueueUrl": "https://sqs.us-east-1.amazonaws.com/123456789012/parking",
    "DataActionFunction": "arn:aws:lambda:us-east-1:123456789012:function:data-action",
    "PacingFunction": "arn:aws:lambda:us-east-1:123456789012:function:pacing",
    "OwnAction": "false",
    "OutcomeLogGroup": "outcomes",
    "OutcomeLogStream": "outcomes",
    "StackName": "genesys-once",
    "ClaimDays": "30",
    "WaitDays": "10",
    "MaxTries": "20",
    "OwnerWaitSeconds": "1, 3, 6",
    "AttemptSeconds": "75",
    "MachineSeconds": "240",
    "LeaseSeconds": "310",
    "MaxActionsPerMinute": "0",
}


def definition_text(substitutions: Mapping[str, str] = SUBSTITUTIONS) -> str:
    return re.sub(r"\$\{(\w+)\}", lambda name: substitutions[name[1]], ASL_PATH.read_text())


def definition(substitutions: Mapping[str, str] = SUBSTITUTIONS) -> dict[str, Any]:
    return copy.deepcopy(_loaded(definition_text(substitutions)))


@cache
def _loaded(text: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def definition_json(substitutions: Mapping[str, str] = SUBSTITUTIONS) -> str:
    """The same in JSON, for what reads no YAML."""
    return json.dumps(definition(substitutions), indent=2)


def states(machine: Mapping[str, Any] | None = None) -> dict[str, dict[str, Any]]:
    """Every state by name, those inside Maps too."""
    return dict(_walk((machine or definition())["States"]))


def _walk(level: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, state in level.items():
        yield name, state
        if "ItemProcessor" in state:
            yield from _walk(state["ItemProcessor"]["States"])


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
