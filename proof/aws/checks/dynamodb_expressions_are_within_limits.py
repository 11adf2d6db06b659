"""An expression has 4 KB and 300 operators at most, and every value is an attribute with its type.

The claim's condition is the longest; blanks count.
"""

import re
from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "amazondynamodb/latest/developerguide/Constraints.html",
        "Expression parameters: 4 KB, 300 operators or functions.",
    ),
)
_MOST_BYTES, _MOST_OPERATORS = 4_096, 300
_OPERATOR = re.compile(r"<>|<=|>=|[=<>+-]|\b(?:AND|OR|NOT|BETWEEN|IN)\b|\w+\(")
_TYPES = {"S", "N", "B", "SS", "NS", "BS", "M", "L", "NULL", "BOOL"}


def findings(deployed: Deployed) -> Iterator[str]:
    for name, task in deployed.tasks.items():
        arguments = task["Arguments"]
        for field, text in arguments.items():
            if field.endswith("Expression"):
                operators = len(_OPERATOR.findall(text))
                if len(text.encode()) > _MOST_BYTES or operators > _MOST_OPERATORS:
                    yield f"{name}, {field}: {len(text.encode())} bytes, {operators} operators"
        for field in ("Item", "Key", "ExpressionAttributeValues"):
            for word, value in arguments.get(field, {}).items():
                if not isinstance(value, dict) or len(value) != 1 or not set(value) <= _TYPES:
                    yield f"{name}, {field}: {word} has no type"


def _every_holder(deployed: Deployed) -> None:
    """A clause for each of many holders, where one row says who holds."""
    arguments = deployed.states["ClaimKey"]["Arguments"]
    arguments["ConditionExpression"] += " OR #owner = :seen" * 300


def _bare(deployed: Deployed) -> None:
    deployed.states["ClaimKey"]["Arguments"]["Item"]["status"] = "IN_PROGRESS"


BROKEN = {"a clause for each holder": _every_holder, "a value without its type": _bare}
