"""Every alias and every value of a call is used in one of its expressions, and what they use is
given.

An unused one is refused like a missing one: a clause that is taken out takes its values with it.
"""

import re
from collections.abc import Iterator

from proof.aws.check import issue, page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "amazondynamodb/latest/APIReference/API_UpdateItem.html",
        "ExpressionAttributeNames and ExpressionAttributeValues.",
    ),
    issue(
        "getmoto/moto/issues/8676",
        "An unused value is a ValidationException on AWS; moto took it.",
    ),
)


def findings(deployed: Deployed) -> Iterator[str]:
    for name, task in deployed.tasks.items():
        arguments = task["Arguments"]
        expressions = " ".join(
            text for field, text in arguments.items() if field.endswith("Expression")
        )
        used = set(re.findall(r"[#:]\w+", expressions))
        given = {
            *arguments.get("ExpressionAttributeNames", {}),
            *arguments.get("ExpressionAttributeValues", {}),
        }
        for word in sorted(used - given):
            yield f"{name} uses {word} and does not give it"
        for word in sorted(given - used):
            yield f"{name} gives {word} and does not use it"


def _unused(deployed: Deployed) -> None:
    arguments = deployed.states["ClaimKey"]["Arguments"]
    arguments["ConditionExpression"] = "attribute_not_exists(pk)"


def _missing(deployed: Deployed) -> None:
    del deployed.states["ClaimKey"]["Arguments"]["ExpressionAttributeValues"][":now_s"]


BROKEN = {"a clause taken out with its values left": _unused, "a value that is missing": _missing}
