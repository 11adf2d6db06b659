"""What Step Functions would log of an execution: an ESTIMATE, for no embedded AWS writes this log.

Run: python -m bench.machine_log. Shows what bench.cost counted with it, before and after one
iteration of the map became one event.

Built from the states that the execution went through, in the form that AWS documents ("Log levels
for Step Functions execution events") and that public samples without execution data show, with
names and ids of real length.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bench import recorded

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


def size(execution: dict[str, Any], level: str) -> tuple[int, int]:
    """Log events and bytes of one execution, as the probe noted it."""
    events = sum_bytes = 0
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
        sum_bytes += len(json.dumps(line, separators=(",", ":"))) + OVERHEAD_BYTES
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
    """Each entry of a map counts its iterations from 0."""
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


# In a recorded part, and in words.
COUNTED = {
    "states": "states entered",
    "machineLogBytesAll": "log bytes at ALL",
    "machineLogBytesError": "log bytes at ERROR",
    "writeUnits": "write units",
    "readUnits": "read units",
    "outcomeLogBytes": "outcome log bytes",
}
EVENTS = {
    "unique": "an event that acts",
    "copy": "a copy of an earlier one",
    "held": "a copy of one in work",
    "collapsed": "a copy in its batch",
}


def compared() -> Iterator[tuple[str, str, list[float | None]]]:
    """Of an event, with its share of the batch: for one and for ten a batch, before and after."""
    result = recorded.read("cost")
    columns: list[tuple[Mapping[str, Any], int]] = [
        (parts, size) for size in (1, 10) for parts in (result["before"]["parts"], result["parts"])
    ]
    for part, event in EVENTS.items():
        for name, words in COUNTED.items():
            yield event, words, [_of_one(parts, part, name, size) for parts, size in columns]


def _of_one(parts: Mapping[str, Any], part: str, name: str, size: int) -> float | None:
    if part not in parts or (part == "collapsed" and size == 1):
        return None
    return float(parts["batch"][name] / size + parts[part][name])


def main() -> int:
    head = ("", "", "one: before", "after", "ten: before", "after")
    print("{:26}{:20}{:>12}{:>10}{:>12}{:>10}".format(*head))
    for event, words, values in compared():
        cells = ["-" if value is None else f"{value:,.1f}" for value in values]
        print("{:26}{:20}{:>12}{:>10}{:>12}{:>10}".format(event, words, *cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
