"""Reads the template as data: intrinsics as {name: argument}, conditions undecided."""

from typing import Any

from samcli.yamlhelper import yaml_parse

from proof.definition.asl import ROOT

TEMPLATE: dict[str, Any] = yaml_parse((ROOT / "template.yaml").read_text())
RESOURCES: dict[str, dict[str, Any]] = TEMPLATE["Resources"]


def of_type(kind: str) -> dict[str, dict[str, Any]]:
    return {name: body for name, body in RESOURCES.items() if body["Type"] == kind}
