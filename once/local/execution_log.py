"""Lets ministack log which states an execution goes through, as Step Functions does at level ALL.

Without execution data, but for one thing: where an iteration begins stands the messageId of its
event, so that whoever reads the log need not guess whose iteration it was.
"""

import json
import threading
import time
from collections.abc import Mapping
from typing import Any

from ministack.services import cloudwatch_logs, stepfunctions

_STREAM = "executions"
# Some thousand events: the oldest go, so that a stack that stays up for days does not grow.
_KEPT_LINES = 60_000

_Details = dict[str, Any]


class _History:
    """The lines of one execution, each with the id of the one before it on its way."""

    def __init__(self, arn: str) -> None:
        self._arn = arn
        self._lock = threading.Lock()
        self.lines: list[tuple[int, str]] = []

    def note(self, kind: str, details: _Details, previous: int) -> int:
        now_ms = time.time_ns() // 1_000_000
        with self._lock:
            number = len(self.lines) + 1
            line = {
                "id": str(number),
                "type": kind,
                "details": details,
                "previous_event_id": str(previous),
                "event_timestamp": str(now_ms),
                "execution_arn": self._arn,
            }
            self.lines.append((now_ms, json.dumps(line)))
        return number


class _Noting(dict[str, Any]):
    """The context of an iteration, whose State is set whenever one is entered."""

    def __init__(self, context: Mapping[str, Any], history: _History) -> None:
        super().__init__(context)
        self._history = history
        item = context["Map"]["Item"]
        self._message_id = item["Value"].get("messageId")
        self._index = {"index": item["Index"]}
        self._last = history.note("MapIterationStarted", self._index, 0)
        self._entered = False

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        if name != "State":
            return
        details: _Details = {"name": value["Name"]}
        if not self._entered:
            details["input"] = json.dumps({"messageId": self._message_id})
        self._entered = True
        self._last = self._history.note("StateEntered", details, self._last)

    def ended(self, how: str) -> None:
        self._history.note(f"MapIteration{how}", self._index, self._last)


def write_what_is_entered() -> None:
    histories: dict[str, _History] = {}
    add, run, iterate = (
        stepfunctions._add_event,
        stepfunctions._run_execution,
        stepfunctions._run_sub_machine,
    )

    def add_and_note(execution: Any, kind: str, details: Any = None) -> Any:
        history = histories.get(execution["executionArn"])
        if history is not None and kind.endswith("StateEntered"):
            name = details["stateEnteredEventDetails"]["name"]
            history.note(kind, {"name": name}, len(history.lines))
        return add(execution, kind, details)

    def iterate_and_note(states: Any, start: str, event: Any, execution: Any, context: Any) -> Any:
        history = histories.get(execution["executionArn"])
        if history is None or "Map" not in context:
            return iterate(states, start, event, execution, context)
        noting = _Noting(context, history)
        how = "Failed"
        try:
            answer = iterate(states, start, event, execution, noting)
            how = "Succeeded"
        finally:
            noting.ended(how)
        return answer

    def run_and_log(arn: str) -> Any:
        group = _group_of(arn)
        if group is not None:
            histories[arn] = _History(arn)
        try:
            return run(arn)
        finally:
            if group is not None:
                _put(group, arn, histories.pop(arn).lines)

    stepfunctions._add_event = add_and_note
    stepfunctions._run_execution = run_and_log
    stepfunctions._run_sub_machine = iterate_and_note


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
