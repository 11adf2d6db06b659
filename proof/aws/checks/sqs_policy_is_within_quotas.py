"""A queue policy has 20 statements, 50 principals, 10 conditions and 8,192 bytes at most, and a
statement seven actions.

IAM has no such limits on a policy of a role, so what is copied from one is refused here.
"""

import json
from collections.abc import Iterator
from typing import Any

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-policies.html",
        "Bytes, conditions, principals, statements, actions per statement.",
    ),
)
_MOST_STATEMENTS, _MOST_CONDITIONS, _MOST_BYTES, _MOST_ACTIONS = 20, 10, 8_192, 7
_LONGEST_ARN = 160  # of a queue or a rule


def findings(deployed: Deployed) -> Iterator[str]:
    for name, policy in deployed.of_type("AWS::SQS::QueuePolicy").items():
        statements = policy["PolicyDocument"]["Statement"]
        text = json.dumps(policy["PolicyDocument"])
        size = len(text) + _LONGEST_ARN * text.count('"Fn::')
        conditions = sum(len(keys) for s in statements for keys in s.get("Condition", {}).values())
        if len(statements) > _MOST_STATEMENTS or conditions > _MOST_CONDITIONS:
            yield f"{name} has {len(statements)} statements and {conditions} conditions"
        if size > _MOST_BYTES:
            yield f"{name} has about {size:,} bytes"
        for statement in statements:
            if (actions := _count(statement["Action"])) > _MOST_ACTIONS:
                yield f"{name}, {statement['Sid']}: {actions} actions in one statement"


def _count(value: Any) -> int:
    return len(value) if isinstance(value, list) else 1


def _eight_actions(deployed: Deployed) -> None:
    (statement,) = deployed.properties("ParkingQueuePolicy")["PolicyDocument"]["Statement"]
    statement["Action"] = [f"sqs:Action{number}" for number in range(8)]


def _a_statement_a_rule(deployed: Deployed) -> None:
    document = deployed.properties("EventQueuePolicy")["PolicyDocument"]
    document["Statement"] *= 11


BROKEN = {"eight actions in one statement": _eight_actions, "22 statements": _a_statement_a_rule}
