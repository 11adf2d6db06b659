"""Reads the template as data: intrinsics as {name: argument}; the caller decides conditions."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import yaml

from proof.definition.asl import ROOT


class CloudFormationLoader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    """Reads !Ref, !GetAtt, !Sub and their like as {tag: value}."""


def _intrinsic(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    if isinstance(node, yaml.ScalarNode):
        return {suffix: loader.construct_scalar(node)}
    if isinstance(node, yaml.SequenceNode):
        return {suffix: loader.construct_sequence(node, deep=True)}
    assert isinstance(node, yaml.MappingNode)
    return {suffix: loader.construct_mapping(node, deep=True)}


CloudFormationLoader.add_multi_constructor("!", _intrinsic)


def load_template() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load(
        Path(ROOT, "template.yaml").read_text(), Loader=CloudFormationLoader
    )
    return loaded


NO_VALUE = {"Ref": "AWS::NoValue"}
TEMPLATE = load_template()
RESOURCES: dict[str, dict[str, Any]] = TEMPLATE["Resources"]
CLAIM_TABLE = {
    name: RESOURCES["ClaimTable"]["Properties"][name]
    for name in ("AttributeDefinitions", "KeySchema", "BillingMode")
}


EVERY_OPTION = frozenset(TEMPLATE["Conditions"])


def of_type(kind: str) -> dict[str, dict[str, Any]]:
    return {name: body for name, body in RESOURCES.items() if body["Type"] == kind}


def decided(value: Any, *, true: Collection[str] = ()) -> Any:
    """`value` with every If decided: the conditions named hold, all others do not."""
    if isinstance(value, dict):
        if "If" in value:
            condition, then, otherwise = value["If"]
            return decided(then if condition in true else otherwise, true=true)
        inner = {name: decided(part, true=true) for name, part in value.items()}
        return {name: part for name, part in inner.items() if part != NO_VALUE}
    if isinstance(value, list):
        return [part for item in value if (part := decided(item, true=true)) != NO_VALUE]
    return value


def statements_of(role: str, *, true: Collection[str] = ()) -> list[dict[str, Any]]:
    policies = decided(RESOURCES[role]["Properties"]["Policies"], true=true)
    return [entry for policy in policies for entry in policy["PolicyDocument"]["Statement"]]


def statements() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each statement of each role, with everything that an option may add."""
    for name in of_type("AWS::IAM::Role"):
        for statement in statements_of(name, true=EVERY_OPTION):
            yield name, statement
