"""CloudFormation reads a definition in YAML with a reader that resolves no anchors and no aliases.

Python's does, and so do the linters: the definition would be another one on AWS, or none. What is
the same in two places is written twice and held equal by the lint.
"""

from collections.abc import Iterator
from functools import cache

import yaml

from proof.aws.check import code, page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "AWSCloudFormation/latest/TemplateReference/aws-resource-stepfunctions-statemachine.html",
        "DefinitionS3Location: the definition is JSON or YAML.",
    ),
    code(
        "aws-cloudformation/aws-cloudformation-resource-providers-stepfunctions",
        "The handler parses JSON, else YAML with Jackson into a map.",
    ),
)


def findings(deployed: Deployed) -> Iterator[str]:
    for line in _lines(deployed.definition_text):
        yield f"line {line} has an anchor or refers to one"


@cache
def _lines(definition: str) -> list[int]:
    return [
        event.start_mark.line + 1
        for event in yaml.parse(definition)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None)
    ]


def _alias(deployed: Deployed) -> None:
    deployed.definition_text += "\nA: &x 1\nB: *x\n"


BROKEN = {"an alias": _alias}
