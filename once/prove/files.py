"""The project's own files as data, to ask about them."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml  # type: ignore[import-untyped]

from once.project import ROOT, TEMPLATE

Json = Any


@cache
def asked() -> dict[str, Json]:
    """Cases, events and policies, as `python -m proof.asked` wrote them."""
    found: dict[str, Json] = json.loads(Path(__file__).with_name("asked.json").read_text("utf-8"))
    return found


@cache
def definition() -> Json:
    """The state machine's, filled in as the cases were played with it."""
    text = (ROOT / "statemachine" / "dedupe.asl.yaml").read_text("utf-8")
    names = asked()["substitutions"]
    return yaml.safe_load(re.sub(r"\$\{(\w+)\}", lambda found: str(names[found[1]]), text))


def template() -> Json:
    """template.yaml with its intrinsic functions written out, as `sam deploy` sends it."""
    return yaml.load(TEMPLATE.read_text("utf-8"), Loader=_Loader)  # noqa: S506 - a SafeLoader


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Reads !Ref, !Sub and their like."""


def _intrinsic(loader: Any, name: str, node: Any) -> Json:
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)
    if name in ("Ref", "Condition"):
        return {name: value}
    if name == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {f"Fn::{name}": value}


_Loader.add_multi_constructor("!", _intrinsic)
