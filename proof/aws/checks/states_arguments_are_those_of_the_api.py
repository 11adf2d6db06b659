"""A task's Arguments are the members of the API that it calls, every one in PascalCase.

A misspelt one fails the task on AWS, some of them when the machine is created; emulators pass it
over and the call is made without it. CloudWatch Logs' own members are in camelCase, and here are
not.
"""

from collections.abc import Iterator

import botocore.session

from proof.aws.check import page
from proof.aws.deployed import Deployed

SOURCES = (
    page(
        "step-functions/latest/dg/supported-services-awssdk.html",
        "Parameters of aws-sdk integrations are in PascalCase, even where the API's are not.",
    ),
    page(
        "step-functions/latest/dg/connect-ddb.html",
        "Which calls and parameters the optimised integration has.",
    ),
)
_SERVICES = {
    "dynamodb": "dynamodb",
    "sqs": "sqs",
    "lambda": "lambda",
    "aws-sdk:cloudwatchlogs": "logs",
}


def findings(deployed: Deployed) -> Iterator[str]:
    session = botocore.session.get_session()
    for name, task in deployed.tasks.items():
        integration, _, action = task["Resource"].split(":::")[1].rpartition(":")
        model = session.get_service_model(_SERVICES[integration])
        shape = model.operation_model(_pascal(action)).input_shape
        assert shape is not None
        for unknown in sorted(set(task["Arguments"]) - {*map(_pascal, shape.members)}):
            yield f"{name}: {action} has no {unknown}"
        for missing in sorted({*map(_pascal, shape.required_members)} - set(task["Arguments"])):
            yield f"{name}: {action} needs {missing}"


def _pascal(name: str) -> str:
    return name[0].upper() + name[1:]


def _misspelt(deployed: Deployed) -> None:
    arguments = deployed.states["ReadClaim"]["Arguments"]
    arguments["ConsistentReads"] = arguments.pop("ConsistentRead")


def _as_the_api_writes_it(deployed: Deployed) -> None:
    arguments = deployed.states["RecordOutcomes"]["Arguments"]
    arguments["logGroupName"] = arguments.pop("LogGroupName")


BROKEN = {
    "a read that is not consistent, by a letter": _misspelt,
    "CloudWatch Logs' own spelling": _as_the_api_writes_it,
}
