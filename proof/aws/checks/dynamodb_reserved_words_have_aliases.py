"""A name that is one of DynamoDB's reserved words stands in an expression only as an alias.

There are 573 of them, in any capitals: status, owner, name, time, ttl. The call fails with a
ValidationException each time, which the optimised integration calls AmazonDynamoDBException, as
everything. Some emulators know no reserved words.
"""

import re
from collections.abc import Iterator

from moto.dynamodb.parsing.reserved_keywords import ReservedKeywords

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "amazondynamodb/latest/developerguide/ReservedWords.html",
        "The list, which moto has as data.",
    ),
    page(
        "amazondynamodb/latest/developerguide/Expressions.ExpressionAttributeNames.html",
        "Aliases begin with #.",
    ),
)
_GRAMMAR = {"SET", "REMOVE", "ADD", "DELETE", "AND", "OR", "NOT", "BETWEEN", "IN"}


def findings(deployed: Deployed) -> Iterator[str]:
    reserved = {word.upper() for word in ReservedKeywords.get_reserved_keywords()} - _GRAMMAR
    for name, task in deployed.tasks.items():
        for field, text in task["Arguments"].items():
            if field.endswith("Expression"):
                for word in re.findall(r"(?<![#:\w])[A-Za-z_]\w*", text):
                    if word.upper() in reserved:
                        yield f"{name}, {field}: {word} is reserved"


def _status(deployed: Deployed) -> None:
    arguments = deployed.states["Processed"]["Arguments"]
    arguments["ConditionExpression"] = "#owner = :me AND status = :in_progress"


BROKEN = {"status by its own name": _status}
