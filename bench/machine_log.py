"""Estimates what Step Functions would log of an execution, since no emulator writes this log.

Built from the states that the execution went through, in the form that AWS documents ("Log levels
for Step Functions execution events") and that public samples show, with names and ids of real
length.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

MACHINE = "StateMachine-AbCdEfGhIjKl"
EXECUTION = (
    f"arn:aws:states:eu-central-1:123456789012:express:{MACHINE}:"
    "0b1f8a5e-7d40-4b7a-9c3e-2f64f6f0a1b2:5c0d7e9a-1b2c-4d3e-8f90-a1b2c3d4e5f6"
)
ROLE = "arn:aws:iam::123456789012:role/genesys-once-StateMachineRole-AbCdEfGhIjKl"
REFUSED = (
    "The conditional request failed (Service: AmazonDynamoDBv2; Status Code: 400; Error Code: "
    "ConditionalCheckFailedException; Request ID: 8KQ3V1N5T7R9W2X4Z6B8C0D2F4G6H8J0KVV4KQNSO5AEMVJF"
    "66Q9ASUAAJG; Proxy: null)"
)
# Each log event counts for so much more than its text, when it is put and when it is kept.
OVERHEAD_BYTES = 26

Line = tuple[str, dict[str, Any]]
State = tuple[str, str]  # its type and name
Task = tuple[str, str, str | None]  # what happened, the resource, the error


def _as_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def size(states: Sequence[State], tasks: Sequence[Task], level: str) -> int:
    """Returns the bytes of one execution through these states. Only failures are logged with the
    level ERROR."""
    sum_bytes = 0
    for number, (kind, details) in enumerate(_history(states, tasks), 1):
        if level == "OFF" or (level == "ERROR" and not kind.endswith("Failed")):
            continue
        line = {
            "details": details,
            "redrive_count": "0",
            "id": str(number),
            "type": kind,
            "previous_event_id": str(number - 1),
            "event_timestamp": "1795003619169",
            "execution_arn": EXECUTION,
        }
        sum_bytes += len(_as_json(line)) + OVERHEAD_BYTES
    return sum_bytes


def _history(states: Sequence[State], tasks: Sequence[Task]) -> Iterator[Line]:
    yield "ExecutionStarted", {"roleArn": ROLE}
    for kind, name in states:
        yield f"{kind}StateEntered", {"name": name}
        yield f"{kind}StateExited", {"name": name}
    for kind, resource, error in tasks:
        about = _about(resource)
        if kind == "TaskFailed":
            about |= {"error": error, "cause": REFUSED}
        yield kind, about
        if kind == "TaskScheduled":
            yield "TaskStarted", _about(resource)
    yield "ExecutionSucceeded", {}


def _about(resource: str) -> dict[str, Any]:
    kind, _, action = resource.partition(":::")[2].rpartition(":")
    return {"region": "eu-central-1", "resource": action, "resourceType": kind}
