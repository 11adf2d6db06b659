"""The variables of a function's environment are text, 4 KB together, and have none of the names
that Lambda keeps for itself.

CloudFormation makes text of a number and Lambda's API refuses one; emulators set what they are
given.
"""

from collections.abc import Iterator

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "lambda/latest/dg/configuration-envvars.html",
        "Requirements: pairs of strings, 4 KB in all, keys of letters, digits and underscores; "
        "reserved names cannot be set.",
    ),
)
_MOST_BYTES = 4_096
_LONGEST_INTRINSIC = 128  # of what only AWS knows: a name, an ARN or an address
_RESERVED = ("AWS_", "LAMBDA_", "_HANDLER", "_X_AMZN_")


def findings(deployed: Deployed) -> Iterator[str]:
    for name, function in deployed.of_type("AWS::Lambda::Function").items():
        size = 0
        for variable, value in function.get("Environment", {}).get("Variables", {}).items():
            if variable.startswith(_RESERVED):
                yield f"{name}: Lambda sets {variable} itself"
            if not isinstance(value, str | dict):
                yield f"{name}: {variable} is {value!r}, and no text"
            size += len(variable) + (
                len(value.encode()) if isinstance(value, str) else _LONGEST_INTRINSIC
            )
        if size > _MOST_BYTES:
            yield f"{name} has an environment of about {size} bytes"


def _number(deployed: Deployed) -> None:
    deployed.properties("DataActionFunction")["Environment"]["Variables"]["CALL_SECONDS"] = 8


def _mapping(deployed: Deployed) -> None:
    """Of which data action a family calls: it is a file that comes with the function."""
    variables = deployed.properties("DataActionFunction")["Environment"]["Variables"]
    variables["ACTION_MAPPING"] = "conversation.acd.start = 'a3f0'\n" * 200


def _reserved(deployed: Deployed) -> None:
    variables = deployed.properties("PacingFunction")["Environment"]["Variables"]
    variables["AWS_REGION"] = "eu-central-1"


BROKEN = {
    "a number": _number,
    "a whole mapping": _mapping,
    "a name that Lambda keeps": _reserved,
}
