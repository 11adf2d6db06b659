"""Estimates what Step Functions would log of an execution, since no emulator writes this log.

Built from the states that an execution went through, in the form that AWS documents ("Log levels
for Step Functions execution events") and that public samples show, with names and ids of real
length, without inputs and outputs.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

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


class Task(NamedTuple):
    """A call of an execution; `error` is empty if it succeeded."""

    resource: str
    error: str


def size(states: Sequence[tuple[str, str]], tasks: Sequence[Task]) -> Mapping[str, int]:
    """Returns the bytes at each level of an execution through these states, each a type and a
    name."""
    sizes = {"ALL": 0, "ERROR": 0}
    for number, (kind, details) in enumerate(_history(states, tasks), 1):
        line = {
            "details": details,
            "redrive_count": "0",
            "id": str(number),
            "type": kind,
            "previous_event_id": str(number - 1),
            "event_timestamp": "1795003619169",
            "execution_arn": EXECUTION,
        }
        size_bytes = len(json.dumps(line, separators=(",", ":")).encode()) + OVERHEAD_BYTES
        sizes["ALL"] += size_bytes
        sizes["ERROR"] += size_bytes if kind.endswith("Failed") else 0
    return sizes


def _history(states: Sequence[tuple[str, str]], tasks: Sequence[Task]) -> Iterator[Line]:
    yield "ExecutionStarted", {"roleArn": ROLE}
    for kind, name in states:
        yield f"{kind}StateEntered", {"name": name}
        yield f"{kind}StateExited", {"name": name}
    for task in tasks:
        kind, _, action = task.resource.partition(":::")[2].rpartition(":")
        about = {"region": "eu-central-1", "resource": action, "resourceType": kind}
        yield "TaskScheduled", about
        yield "TaskStarted", about
        failure = {"error": task.error, "cause": REFUSED}
        yield ("TaskFailed", about | failure) if task.error else ("TaskSucceeded", about)
    yield "ExecutionSucceeded", {}
