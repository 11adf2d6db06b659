"""Estimates what Step Functions would log of an execution, since no emulator writes this log.

Built from the states that the execution went through, in the form that AWS documents ("Log levels
for Step Functions execution events") and that public samples show, with names and ids of real
length. Inputs, outputs, variables and parameters, which LogPayloads=true adds, are those that the
probe saw.
"""

import json
from collections.abc import Iterable, Iterator
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
# What an optimised integration adds to its result, as a recorded response of DynamoDB shows it.
_ID = "8KQ3V1N5T7R9W2X4Z6B8C0D2F4G6H8J0KVV4KQNSO5AEMVJF66Q9ASUAAJG"
_HEADERS = {
    "Connection": "keep-alive",
    "Content-Length": "1024",
    "Content-Type": "application/x-amz-json-1.0",
    "Date": "Thu, 19 Nov 2026 20:00:00 GMT",
    "Server": "Server",
    "x-amz-crc32": "2745614147",
    "x-amzn-RequestId": _ID,
}
SDK_METADATA = {
    "SdkHttpMetadata": {
        "AllHttpHeaders": {name: [value] for name, value in _HEADERS.items()},
        "HttpHeaders": _HEADERS,
        "HttpStatusCode": 200,
    },
    "SdkResponseMetadata": {"RequestId": _ID},
}
# Each log event counts for so much more than its text, when it is put and when it is kept.
OVERHEAD_BYTES = 26

Line = tuple[str, dict[str, Any]]


def data_bytes(name: str, value: Any) -> int:
    """Returns what one detail adds to a line, in which it stands as JSON within JSON."""
    detail: Any = _as_json(value)
    if name == "assignedVariables":
        detail = {variable: _as_json(one) for variable, one in value.items()}
    added = {name: detail}
    if name != "parameters":
        added[f"{name}Details"] = {"truncated": False}
    return len(_as_json(added).encode()) - len("}")  # its other brace counts for the comma


def _as_json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def size(execution: dict[str, Any], level: str, payloads: bool = False) -> tuple[int, int]:
    """Returns log events and bytes of one execution, as the probe noted it.

    Only a level that logs states has their payloads: a failed task shows error and cause.
    """
    events = 0
    sum_bytes = execution["dataBytes"] if payloads and level == "ALL" else 0
    for number, (kind, details) in enumerate(_history(execution), 1):
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
        events += 1
        sum_bytes += len(_as_json(line)) + OVERHEAD_BYTES
    return events, sum_bytes


def _history(execution: dict[str, Any]) -> Iterator[Line]:
    yield "ExecutionStarted", {"roleArn": ROLE}
    for kind, name, _ in execution["states"]:
        yield f"{kind}StateEntered", {"name": name}
        yield f"{kind}StateExited", {"name": name}
    yield from _rounds(execution["states"])
    for kind, resource, error in execution["tasks"]:
        about = _about(resource)
        if kind == "TaskFailed":
            about |= {"error": error, "cause": REFUSED}
        yield kind, about
        if kind == "TaskScheduled":
            yield "TaskStarted", _about(resource)
    yield "ExecutionSucceeded", {}


def _rounds(states: Iterable[tuple[str, str, int | None]]) -> Iterator[Line]:
    """Yields the lines of each entry of a map, which counts its iterations from 0."""
    rounds: list[tuple[str, set[int]]] = []
    for kind, name, index in states:
        if index is not None:
            rounds[-1][1].add(index)
        elif kind == "Map":
            rounds.append((name, set()))
    for name, iterations in rounds:
        yield "MapStateStarted", {"length": len(iterations)}
        for index in sorted(iterations):
            yield "MapIterationStarted", {"index": index, "name": name}
            yield "MapIterationSucceeded", {"index": index, "name": name}
        yield "MapStateSucceeded", {}


def _about(resource: str) -> dict[str, Any]:
    kind, _, action = resource.partition(":::")[2].rpartition(":")
    return {"region": "eu-central-1", "resource": action, "resourceType": kind}
