"""The states through which one delivery of a message went, as the execution log has them.

Step Functions logs each state at LogLevel ALL only. The log names the messages of an execution only
with LogPayloads; without it, a path is known if all events of the batch that ended so took it.
"""

import json
from collections.abc import Iterable
from typing import Any

from botocore.exceptions import ClientError
from pydantic import Field

from once.operate import log
from once.operate.model import Model
from once.operate.stack import Stack
from once.operate.story import Message
from once.outcomes import Outcome
from once.records import OutcomeRecord

# A pipe's execution ends within five minutes, and is logged a little later.
_BEFORE_MS, _AFTER_MS = 310_000, 15_000
# Events with these reasons never came to an iteration.
_OUTSIDE = {"LIMITED", "BREAKER_OPEN", "PACING_FAILED", "NOT_REACHED", "ROUND_FAILED"}
_ENDS = {
    Outcome.PROCESSED: {"Processed", "ProcessedUnconfirmed", "SkipDuplicate"},
    Outcome.DUPLICATE: {"SkipDuplicate", "Processed", "ProcessedUnconfirmed"},
    Outcome.STALE: {"SkipStale", "SkipDuplicate"},
    Outcome.IGNORED: {"Ignored", "SkipDuplicate"},
    Outcome.PARKED: {"Parked", "SkipDuplicate"},
    Outcome.RETRY: {"Returned"},
}

Line = dict[str, Any]


class Step(Model):
    state: str
    at_ms: int = Field(description="When it was entered.")


class Path(Model):
    """The states that one delivery of a message entered, in order."""

    message_id: str
    execution: str | None
    steps: list[Step]
    missing: str | None = Field(description="Why the execution log does not tell; else null.")


def read_path(stack: Stack, message: Message, delivery: OutcomeRecord) -> Path:
    level = stack.parameters.get("LogLevel", "ALL")
    # A collapsed copy shares the path of the message that was kept.
    collapsed = delivery.reason == "COLLAPSED" and message.because_of is not None
    message_id = message.because_of if collapsed and message.because_of else message.message_id
    path = Path(message_id=message_id, execution=delivery.run, steps=[], missing=None)
    if level != "ALL":
        path.missing = f"LogLevel is {level}, not ALL"
        return path
    try:
        _find_steps(stack, path, delivery)
    except ClientError:
        path.missing = "the execution log cannot be read"
    return path


def _find_steps(stack: Stack, path: Path, delivery: OutcomeRecord) -> None:
    recorded_ms = delivery.recorded_at_ms
    if path.execution is None:
        # The last execution that got the message before the record was written.
        entered = _read_lines(stack, recorded_ms, path.message_id, "StateEntered")
        arns = [
            str(line["execution_arn"])
            for line in entered
            if path.message_id in line["details"].get("input", "")
            and int(line["event_timestamp"]) <= recorded_ms
        ]
        if not arns:
            path.missing = (
                "without LogPayloads the log does not say which execution had the message"
            )
            return
        path.execution = arns[-1].rpartition(":")[2]
    lines = _read_lines(stack, recorded_ms, path.execution)
    if not lines:
        path.missing = "the execution log holds nothing of it, or no longer"
        return
    around, iterations = split_iterations(lines)
    own = [one for one in iterations if path.message_id in one[0]["details"].get("input", "")]
    alike = [one for one in own or iterations if _names(one)[-1] in _ENDS[delivery.outcome]]
    if delivery.reason in _OUTSIDE:
        taken = []
    elif len({tuple(_names(one)) for one in alike}) == 1:
        taken = alike[0]
    else:
        path.missing = "several events of its batch ended so, on different paths"
        return
    path.steps = [
        Step(state=line["details"]["name"], at_ms=int(line["event_timestamp"]))
        for line in sorted([*around, *taken], key=lambda line: int(line["id"]))
    ]


def _read_lines(stack: Stack, at_ms: int, *patterns: str) -> list[Line]:
    group = stack.outputs["ExecutionLogGroupName"]
    since_ms, until_ms = at_ms - _BEFORE_MS, at_ms + _AFTER_MS
    found = log.search_lines(stack, group, *patterns, since_ms=since_ms, until_ms=until_ms)
    return [json.loads(line.text) for line in found]


def split_iterations(lines: Iterable[Line]) -> tuple[list[Line], list[list[Line]]]:
    """The states that the machine entered, and those of each iteration of its Map.

    Each line names the line before it on its own path; the lines of an iteration lead back to its
    start, and those behind the Map to the end of an iteration.
    """
    by_id = {line["id"]: line for line in lines}
    around: list[Line] = []
    iterations: dict[str, list[Line]] = {}
    iteration_of: dict[str, str | None] = {}
    for number in sorted(by_id, key=int):
        line = by_id[number]
        before = line["previous_event_id"]
        ended = by_id.get(before, {"type": ""})["type"]
        if line["type"] == "MapIterationStarted":
            iteration_of[number] = number
        elif ended.startswith("MapIteration") and ended != "MapIterationStarted":
            iteration_of[number] = None
        else:
            iteration_of[number] = iteration_of.get(before)
        if line["type"].endswith("StateEntered"):
            within = iteration_of[number]
            (around if within is None else iterations.setdefault(within, [])).append(line)
    return around, list(iterations.values())


def _names(lines: Iterable[Line]) -> list[str]:
    return [line["details"]["name"] for line in lines]
