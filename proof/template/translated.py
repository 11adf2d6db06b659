"""The template as CloudFormation reads it: translated by SAM, with one set of parameters decided.

What only AWS knows, such as the ARN of a resource, stays the intrinsic that asks for it.
"""

import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import boto3
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

from proof.template import TEMPLATE

STACK, ACCOUNT = "once", "111122223333"
_NOTHING = object()
_PLACEHOLDER = re.compile(r"\$\{([\w:.]+)\}")


@dataclass(frozen=True)
class Translated:
    """One deployment: resources with their properties decided, and what its Rules refuse."""

    parameters: Mapping[str, str]
    stack: str = STACK
    region: str = "eu-central-1"

    @cached_property
    def resources(self) -> dict[str, dict[str, Any]]:
        return {
            name: {key: part for key, part in self._decided(body).items() if key != "Condition"}
            for name, body in self._template["Resources"].items()
            if "Condition" not in body or self._decided({"Condition": body["Condition"]})
        }

    @cached_property
    def outputs(self) -> dict[str, dict[str, Any]]:
        return {name: self._decided(body) for name, body in self._template["Outputs"].items()}

    @cached_property
    def refusals(self) -> list[str]:
        """Returns the refusals of CloudFormation for these parameters, before any change."""
        return [
            assertion["AssertDescription"]
            for rule in TEMPLATE["Rules"].values()
            if self._decided(rule.get("RuleCondition", True))
            for assertion in rule["Assertions"]
            if not self._decided(assertion["Assert"])
        ]

    def of_type(self, kind: str) -> dict[str, dict[str, Any]]:
        """The properties of all resources of a kind, by name."""
        return {
            name: body["Properties"]
            for name, body in self.resources.items()
            if body["Type"] == kind
        }

    @cached_property
    def _template(self) -> dict[str, Any]:
        return _translated(tuple(self.parameters.items()), self.region)

    @cached_property
    def _values(self) -> dict[str, Any]:
        declared = TEMPLATE["Parameters"]
        given = {name: p.get("Default") for name, p in declared.items()} | dict(self.parameters)
        return {
            **{name: _typed(declared[name]["Type"], value) for name, value in given.items()},
            "AWS::StackName": self.stack,
            "AWS::Region": self.region,
            "AWS::AccountId": ACCOUNT,
            "AWS::Partition": _session("us-east-1").get_partition_for_region(self.region),
            "AWS::NoValue": _NOTHING,
        }

    def _decided(self, value: Any) -> Any:
        if isinstance(value, list):
            return [part for item in value if (part := self._decided(item)) is not _NOTHING]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            (name, argument), *_ = value.items()
            if name == "Fn::If":
                condition, then, otherwise = argument
                return self._decided(then if self._holds(condition) else otherwise)
            if name == "Condition" and isinstance(argument, str):
                return self._holds(argument)
            if name == "Ref":
                return self._values.get(argument, value)
            if name == "Fn::Sub":
                return self._substituted(argument)
            if function := _FUNCTIONS.get(name):
                arguments = self._decided(argument)
                return {name: arguments} if _open(arguments) else function(self, *arguments)
        decided = {name: self._decided(part) for name, part in value.items()}
        return {name: part for name, part in decided.items() if part is not _NOTHING}

    def _holds(self, condition: str) -> bool:
        return bool(self._decided(TEMPLATE["Conditions"][condition]))

    def _substituted(self, argument: Any) -> Any:
        text, given = (argument, {}) if isinstance(argument, str) else argument
        given = {name: self._decided(part) for name, part in given.items()}
        known = self._values | {name: part for name, part in given.items() if not _open(part)}

        def fill(found: re.Match[str]) -> str:
            return str(known.get(found[1], found[0]))

        filled = _PLACEHOLDER.sub(fill, text)
        left = {name: part for name, part in given.items() if name not in known}
        if not _PLACEHOLDER.search(filled):
            return filled
        return {"Fn::Sub": [filled, left] if left else filled}


@cache
def _translated(parameters: tuple[tuple[str, str], ...], region: str) -> dict[str, Any]:
    source, given = deepcopy(TEMPLATE), dict(parameters)
    unknown = set(given) - set(source["Parameters"])
    assert not unknown, f"no parameters of the template: {unknown}"
    for body in source["Resources"].values():
        for uri in {"CodeUri", "DefinitionUri"} & set(body.get("Properties", {})):
            body["Properties"][uri] = "s3://packages/where-sam-deploy-puts-it"
    translator = Translator({}, Parser(), boto_session=_session(region))
    translated: dict[str, Any] = translator.translate(source, given)
    return translated


@cache
def _session(region: str) -> boto3.session.Session:
    return boto3.session.Session(region_name=region)


def _typed(kind: str, value: Any) -> Any:
    if kind == "CommaDelimitedList":
        return str(value).split(",")
    return int(value) if kind == "Number" else value


def _open(value: Any) -> bool:
    """Returns true if a part of the value is left to AWS."""
    if isinstance(value, list):
        return any(map(_open, value))
    return isinstance(value, dict)


_FUNCTIONS: Mapping[str, Any] = {
    "Fn::FindInMap": lambda _, name, top, second: TEMPLATE["Mappings"][name][top][second],
    "Fn::Select": lambda _, index, items: items[int(index)],
    "Fn::Split": lambda _, by, text: text.split(by),
    "Fn::Join": lambda _, by, items: by.join(items),
    "Fn::Equals": lambda _, one, other: str(one) == str(other),
    "Fn::And": lambda _, *parts: all(parts),
    "Fn::Or": lambda _, *parts: any(parts),
    "Fn::Not": lambda _, part: not part,
    "Fn::Contains": lambda _, items, one: one in items,
}
