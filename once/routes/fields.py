"""The fields of each family's body, as Genesys' own models list them (fields.json).

Genesys adds fields and values between two releases of its models, so a field that is missing here
is doubtful, not wrong.
"""

import json
from functools import cache
from importlib.resources import files

Shape = dict[str, "Node"]
Node = str | list[str] | Shape
"""The content of a field: text, number, boolean or any, one of some values, or an object with
fields. A list has the shape of its elements, as in a pattern."""

ANY = "any"
_EVERY_NAME = "*"


@cache
def shapes() -> dict[str, Shape]:
    """Reads the fields of each family that Genesys publishes."""
    document = json.loads((files(__package__) / "fields.json").read_text("utf-8"))
    found: list[Shape] = []
    for fields in document["shapes"]:  # each refers to those before it
        found.append(
            {name: found[node] if isinstance(node, int) else node for name, node in fields.items()}
        )
    return {family: found[at] for family, at in document["families"].items()}


def at(shape: Shape, path: tuple[str, ...]) -> Node | None:
    """Returns the field at a path, or None if the family has none."""
    node: Node = shape
    for name in path:
        if node == ANY:
            return ANY
        if not isinstance(node, dict):
            return None
        if name not in node and _EVERY_NAME not in node:
            return None
        node = node.get(name, ANY)
    return node


def names(shape: Shape, path: tuple[str, ...]) -> list[str]:
    """Returns the names that could have been meant by the last one of a path."""
    node = at(shape, path[:-1])
    return [*node] if isinstance(node, dict) else []
