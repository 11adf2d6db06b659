"""Retriers come before catchers, and States.TaskFailed stands for every error but States.Timeout.

So a refused condition would be tried again and again before its Catch sees it. A retrier of its
own, with no attempts, takes it out; a refusal stays what it is, one answer.
"""

from collections.abc import Iterator

from proof.asl.errors import matches
from proof.asl.readings import Readings
from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "step-functions/latest/dg/concepts-error-handling.html",
        "The Catch is looked at if there is no Retry, or if retries did not resolve the error; a "
        "MaxAttempts of 0 never retries.",
    ),
)
_REFUSED = "DynamoDB.ConditionalCheckFailedException"


def findings(deployed: Deployed) -> Iterator[str]:
    for name, task in deployed.tasks.items():
        if "ConditionExpression" not in task["Arguments"]:
            continue
        for retrier in task.get("Retry", []):
            if matches(retrier["ErrorEquals"], _REFUSED, Readings()):
                if retrier.get("MaxAttempts", 3):
                    yield f"{name} retries a refused condition"
                break


def _not_taken_out(deployed: Deployed) -> None:
    del deployed.states["ClaimKey"]["Retry"][0]


def _taken_out_too_late(deployed: Deployed) -> None:
    deployed.states["Processed"]["Retry"].reverse()


BROKEN = {"no retrier of its own": _not_taken_out, "one behind all others": _taken_out_too_late}
