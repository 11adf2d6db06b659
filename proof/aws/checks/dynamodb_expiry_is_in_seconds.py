"""DynamoDB removes rows by a number of epoch seconds; in milliseconds it never does.

Nor does it within days when they are seconds: until it gets there an expired row is read and counts
in conditions, so ours compare its time themselves, in seconds as well.
"""

import re
from collections.abc import Iterator
from typing import Any

from proof.asl.jsonata import Clock, Library
from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "amazondynamodb/latest/developerguide/time-to-live-ttl-before-you-start.html",
        "Epoch seconds, at most five years in the past; any other format is ignored.",
    ),
    page(
        "amazondynamodb/latest/developerguide/TTL.html",
        "Deleted within a few days of their expiration.",
    ),
)
_NOW_MS = 1_777_888_800_000
_FIVE_YEARS = 5 * 366 * 86_400


def findings(deployed: Deployed) -> Iterator[str]:
    for table in deployed.of_type("AWS::DynamoDB::Table").values():
        yield from _in(table["TimeToLiveSpecification"]["AttributeName"], deployed)


def _in(name: str, deployed: Deployed) -> Iterator[str]:
    for state, task in deployed.tasks.items():
        for value in _times(task["Arguments"], name):
            expression = value.get("N", "").removeprefix("{%").removesuffix("%}")
            scope = {"claimSeconds": 30 * 86_400}
            number = float(str(Library().evaluate(expression or "'0'", scope, Clock(_NOW_MS))))
            if not 0 <= number - _NOW_MS / 1_000 <= _FIVE_YEARS:
                yield f"{state} takes {number:.0f} for a time of {name}"


def _times(arguments: dict[str, Any], name: str) -> Iterator[dict[str, str]]:
    """Yields the values that are written into the attribute or compared with it."""
    if name in arguments.get("Item", {}):
        yield arguments["Item"][name]
    for field, text in arguments.items():
        if field.endswith("Expression"):
            for word in re.findall(rf"\b{name}\s*[<>=]+\s*(:\w+)", text):
                yield arguments["ExpressionAttributeValues"][word]


def _written_in_milliseconds(deployed: Deployed) -> None:
    values = deployed.states["Processed"]["Arguments"]["ExpressionAttributeValues"]
    values[":expires"] = {"N": "{% $string($millis() + $claimSeconds * 1000) %}"}


def _compared_in_milliseconds(deployed: Deployed) -> None:
    values = deployed.states["ClaimKey"]["Arguments"]["ExpressionAttributeValues"]
    values[":now_s"] = values[":now"]


BROKEN = {
    "an expiry in milliseconds": _written_in_milliseconds,
    "a comparison in milliseconds": _compared_in_milliseconds,
}
