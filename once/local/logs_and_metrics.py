"""Lets ministack log and count what commands read of a stack: the states that an execution enters,
received messages, and records by family.

docs.aws.amazon.com: Step Functions, "Using CloudWatch Logs to log execution history"; SQS,
"Available CloudWatch metrics for Amazon SQS"; CloudWatch Logs, "CloudWatch Logs Insights language
query syntax".
"""

import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any

from ministack.services import cloudwatch, cloudwatch_logs, sqs, stepfunctions
from once_enrichment.envelope import maybe_ms

from once.lines import parse

_Row = dict[str, Any]
_STREAM = "executions"
# Some thousand events: the oldest go, so that a stack that stays up for days does not grow.
_KEPT_LINES = 60_000
_COUNT = re.compile(
    r"filter (.+) \| stats count\(\*\) as events, max\(@timestamp\) as last by (.+)"
)
_PRESENT = re.compile(r"ispresent\((\w+)\)")
_EXCLUDED = re.compile(r'(\w+) != "([^"]*)"')


def log_executions() -> None:
    """Logs which states an execution enters, as Step Functions does at level ALL. It writes no
    execution data: for what an event was, the outcome log has the record."""
    run = stepfunctions._run_execution

    def run_and_log(arn: str) -> None:
        run(arn)
        group = _find_log_group(arn)
        if group is not None:
            _log_states(group, arn)

    stepfunctions._run_execution = run_and_log


def _find_log_group(arn: str) -> str | None:
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


def _log_states(group: str, arn: str) -> None:
    streams = cloudwatch_logs._log_groups[group]["streams"]
    if _STREAM not in streams:
        cloudwatch_logs._create_log_stream({"logGroupName": group, "logStreamName": _STREAM})
    stream, events = streams[_STREAM], []
    for event in stepfunctions._executions[arn]["events"]:
        if event["type"].endswith("StateEntered"):
            ms = maybe_ms(event["timestamp"])
            line = {
                "id": str(event["id"]),
                "type": event["type"],
                "details": {"name": event["stateEnteredEventDetails"]["name"]},
                "event_timestamp": str(ms),
                "execution_arn": arn,
            }
            event_id = f"{arn}-{event['id']}"
            logged = {"message": json.dumps(line), "eventId": event_id}
            events.append({**logged, "timestamp": ms, "ingestionTime": ms})
    cloudwatch_logs._append_log_events(stream, events)
    with cloudwatch_logs._log_events_lock:
        del stream["events"][:-_KEPT_LINES]


def count_receives() -> None:
    """Counts received messages, from which `once status` tells if the pipe works."""
    receive = sqs._HANDLERS["ReceiveMessage"]

    async def receive_and_count(asked: _Row, url: str) -> _Row:
        received: _Row = await receive(asked, url)
        if number := len(received.get("Messages", ())):
            _add_point((asked.get("QueueUrl") or url).rstrip("/").rpartition("/")[2], number)
        return received

    sqs._HANDLERS["ReceiveMessage"] = receive_and_count


def _add_point(queue: str, number: int) -> None:
    """Adds to the sum of this minute: a point for each message would grow without end."""
    dimensions = {"QueueName": queue}
    metric = ("AWS/SQS", "NumberOfMessagesReceived", cloudwatch._dims_key(dimensions))
    points, minute = cloudwatch._metric_bucket(metric), time.time() // 60 * 60
    if not points or points[-1]["Timestamp"] != minute:
        statistics = {"SampleCount": 0, "Sum": 0, "Minimum": number, "Maximum": number}
        point = {"Timestamp": minute, "Dimensions": dimensions, "Unit": "None"}
        points.append({**point, "_stat": statistics})
    points[-1]["_stat"]["SampleCount"] += 1
    points[-1]["_stat"]["Sum"] += number


def answer_counts() -> None:
    """Answers the one query with `stats` that the commands ask; ministack knows none."""
    start = cloudwatch_logs._start_query

    def start_and_answer(asked: _Row) -> Any:
        if not (count := _COUNT.fullmatch(asked.get("queryString", ""))):
            return start(asked)
        answer = start(asked | {"endTime": asked["startTime"]})  # it need not search
        if answer[0] == HTTPStatus.OK:
            records = cloudwatch_logs._collect_query_records(
                cloudwatch_logs._resolve_query_log_groups(asked),
                asked["startTime"],
                asked["endTime"],
            )
            query = cloudwatch_logs._queries[json.loads(answer[2])["queryId"]]
            query["results"] = [
                [{"field": name, "value": str(value)} for name, value in row.items()]
                for row in count_lines(count[1], count[2], records)
            ]
        return answer

    cloudwatch_logs._start_query = start_and_answer


def count_lines(condition: str, by: str, records: Iterable[_Row]) -> Iterator[_Row]:
    """Counts the lines of each group that meet the condition."""
    present, excluded = _PRESENT.findall(condition), _EXCLUDED.findall(condition)
    names = by.split(", ")
    events, newest = Counter[tuple[Any, ...]](), dict[tuple[Any, ...], int]()
    for record in records:
        fields = parse(record["@message"])
        is_object = isinstance(fields, dict) and all(name in fields for name in present)
        if is_object and all(fields.get(name) != value for name, value in excluded):
            group = tuple(fields.get(name) for name in names)
            events[group] += 1
            newest[group] = max(newest.get(group, 0), record["_timestamp_ms"])
    for group, number in events.items():
        # What is absent is no field of the row that comes back.
        known = {name: value for name, value in zip(names, group, strict=True) if value is not None}
        yield {**known, "events": number, "last": newest[group]}
