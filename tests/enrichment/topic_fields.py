"""The fields of each family's body, from the models of the Genesys SDK: once/routes/fields.json.

Run: python -m tests.enrichment.topic_fields (`make fields`). once/routes/fields.py reads it.
"""

import ast
import json
import re
from pathlib import Path
from typing import Any

from once_enrichment.families import family_name

from once.routes import fields
from tests.enrichment import sdk
from tests.enrichment.sdk import MODELS

FILE = Path(fields.__file__).with_name("fields.json")
_KINDS = {"str": "text", "datetime": "text", "date": "text", "bool": "boolean"}
_KINDS |= {"int": "number", "float": "number"}
_VALUES = re.compile(
    r"def (\w+)\(self, \w+: [^)]*\)[^:]*:(?:(?!\n    def ).)*?allowed_values = (\[.*?\])\n", re.S
)


class Shapes:
    """The shapes of all models, each kept once and numbered in the order in which it was met."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    @property
    def lines(self) -> list[str]:
        return [*self._numbers]

    def add(self, model: str, above: tuple[str, ...] = ()) -> int:
        values = _values_of(model)
        shape = {
            name: values.get(name) or self._node(kind, (*above, model))
            for name, kind in sdk.installed().fields(model).items()
        }
        return self._numbers.setdefault(json.dumps(shape), len(self._numbers))

    def _node(self, kind: str, above: tuple[str, ...]) -> Any:
        kind = re.sub(r"^(list\[)+|\]+$", "", kind)
        if kind.startswith("dict("):
            return self._numbers.setdefault(json.dumps({"*": "any"}), len(self._numbers))
        if kind in sdk.installed().modules and kind not in above:
            return self.add(kind, above)
        return _KINDS.get(kind, "any")


def _values_of(model: str) -> dict[str, list[str]]:
    """The values that each field of a model may have, where the SDK lists them."""
    models = sdk.installed()
    names, listed = models.table(model, "attribute_map"), _VALUES.findall(models.text(model))
    return {names[field]: ast.literal_eval(values) for field, values in listed}


def document() -> str:
    shapes = Shapes()
    families = {family_name(topic): shapes.add(MODELS[topic]) for topic in sorted(MODELS)}
    lines = ",\n    ".join(shapes.lines)
    return f'{{\n  "families": {json.dumps(families)},\n  "shapes": [\n    {lines}\n  ]\n}}\n'


if __name__ == "__main__":
    FILE.write_text(document())
