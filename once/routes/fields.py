"""The fields of each family's body, as Genesys' own models list them (fields.json).

Genesys adds fields and values between two releases of its models, so a field that is missing here
is doubtful, not wrong.
"""

import json
from collections.abc import Sequence
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
    known: list[Shape] = []
    for fields in document["shapes"]:  # each refers to those before it
        known.append(
            {name: known[node] if isinstance(node, int) else node for name, node in fields.items()}
        )
    return {family: known[number] for family, number in document["families"].items()}


def find_field(shape: Shape, path: Sequence[str]) -> Node | None:
    """Returns the field at a path, or None if the family has none."""
    node: Node = shape
    for name in path:
        if node == ANY:
            return ANY
        if not isinstance(node, dict) or (name not in node and _EVERY_NAME not in node):
            return None
        node = node.get(name, ANY)
    return node


def reaches(node: Node, steps: Sequence[str]) -> bool:
    """Returns true if a path of facts can lead to a field. A `*` stands for the items of a list,
    which has no level of its own here, or for each field of an object."""
    if not steps or node == ANY:
        return True
    name, rest = steps[0], steps[1:]
    if name in ("*", "**") and reaches(node, rest):
        return True
    if not isinstance(node, dict):
        return False
    # A field that may hold anything is meant only by who names it, not by a star.
    inners = [i for i in node.values() if not rest or (i != ANY and _EVERY_NAME not in i)]
    if name == "**":
        return any(reaches(inner, steps) for inner in inners)
    if name == "*":
        return any(reaches(inner, rest) for inner in inners)
    inner = node.get(name, node.get(_EVERY_NAME))
    return inner is not None and reaches(inner, rest)


def names(shape: Shape, path: Sequence[str]) -> list[str]:
    """Returns the names that could have been meant by the last name of a path."""
    node = find_field(shape, path[:-1])
    return [*node] if isinstance(node, dict) else []
