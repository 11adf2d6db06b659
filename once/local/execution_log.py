"""Lets ministack log which states an execution enters, as Step Functions does at level ALL.

It writes no execution data: for what an event was, the outcome log has the record.
"""

import json
import time
from typing import Any

from ministack.services import cloudwatch_logs, stepfunctions

_STREAM = "executions"
# Some thousand events: the oldest go, so that a stack that stays up for days does not grow.
_KEPT_LINES = 60_000


def write_what_is_entered() -> None:
    lines: dict[str, list[tuple[int, str]]] = {}
    add, run = stepfunctions._add_event, stepfunctions._run_execution

    def add_and_note(execution: Any, kind: str, details: Any = None) -> Any:
        arn = execution["executionArn"]
        if arn in lines and kind.endswith("StateEntered"):
            now_ms = time.time_ns() // 1_000_000
            line = {
                "id": str(len(lines[arn]) + 1),
                "type": kind,
                "details": {"name": details["stateEnteredEventDetails"]["name"]},
                "previous_event_id": str(len(lines[arn])),
                "event_timestamp": str(now_ms),
                "execution_arn": arn,
            }
            lines[arn].append((now_ms, json.dumps(line)))
        return add(execution, kind, details)

    def run_and_log(arn: str) -> Any:
        group = _group_of(arn)
        if group is None:
            return run(arn)
        lines[arn] = []
        try:
            return run(arn)
        finally:
            _put(group, arn, lines.pop(arn))

    stepfunctions._add_event = add_and_note
    stepfunctions._run_execution = run_and_log


def _group_of(arn: str) -> str | None:
    """Returns the log group of its machine, if that logs everything."""
    execution = stepfunctions._executions.get(arn) or {}
    machine = stepfunctions._state_machines.get(execution.get("stateMachineArn")) or {}
    # What CloudFormation made keeps the names of the template.
    logging = json.loads(json.dumps(machine.get("loggingConfiguration", {})).lower())
    if logging.get("level") != "all" or not logging.get("destinations"):
        return None
    wanted = logging["destinations"][0]["cloudwatchlogsloggroup"]["loggrouparn"].split(":")[6]
    groups = [name for name in cloudwatch_logs._log_groups if name.lower() == wanted]
    return groups[0] if groups else None


def _put(group: str, arn: str, lines: list[tuple[int, str]]) -> None:
    streams = cloudwatch_logs._log_groups[group]["streams"]
    if _STREAM not in streams:
        cloudwatch_logs._create_log_stream({"logGroupName": group, "logStreamName": _STREAM})
    stream = streams[_STREAM]
    events = [
        {"timestamp": at, "message": text, "ingestionTime": at, "eventId": f"{arn}-{number}"}
        for number, (at, text) in enumerate(lines)
    ]
    cloudwatch_logs._append_log_events(stream, events)
    with cloudwatch_logs._log_events_lock:
        del stream["events"][:-_KEPT_LINES]
