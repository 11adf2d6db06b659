"""The project's own files as data, to ask about them."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from samcli.yamlhelper import yaml_parse

from once.project import ROOT, TEMPLATE

Json = Any


@cache
def asked() -> dict[str, Json]:
    """Reads cases, events and policies, as `python -m proof.asked` wrote them."""
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
    return yaml_parse(TEMPLATE.read_text("utf-8"))
