"""Lets ministack count as CloudWatch does: the metrics of log lines in the embedded metric format,
those of a queue, and Logs Insights' `stats`.

docs.aws.amazon.com: CloudWatch, "Specification: Embedded metric format"; SQS, "Available CloudWatch
metrics for Amazon SQS"; CloudWatch Logs, "CloudWatch Logs Insights language query syntax".
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from ministack.services import (
    cloudwatch,
    cloudwatch_logs,
    eventbridge,
    sqs,
)

_PERIOD_SECONDS = 60
_COUNTED = {
    "SendMessage": "NumberOfMessagesSent",
    "SendMessageBatch": "NumberOfMessagesSent",
    "ReceiveMessage": "NumberOfMessagesReceived",
    "DeleteMessage": "NumberOfMessagesDeleted",
    "DeleteMessageBatch": "NumberOfMessagesDeleted",
}

_Row = dict[str, Any]


def count(
    namespace: str, name: str, dimensions: Mapping[str, str], values: Iterable[float]
) -> None:
    """Adds to the statistics of this minute: a point for each value would grow without end."""
    minute = time.time() // _PERIOD_SECONDS * _PERIOD_SECONDS
    points = cloudwatch._metric_bucket((namespace, name, cloudwatch._dims_key(dict(dimensions))))
    for value in values:
        if not points or points[-1]["Timestamp"] != minute:
            statistics = {"SampleCount": 0, "Sum": 0, "Minimum": value, "Maximum": value}
            point = {"Timestamp": minute, "Dimensions": dimensions, "Unit": "None"}
            points.append({**point, "_stat": statistics})
        known = points[-1]["_stat"]
        known["SampleCount"] += 1
        known["Sum"] += value
        known["Minimum"] = min(known["Minimum"], value)
        known["Maximum"] = max(known["Maximum"], value)


def count_log_lines() -> None:
    put = cloudwatch_logs._put_log_events

    def put_and_count(asked: _Row) -> Any:
        answer = put(asked)
        if answer[0] == HTTPStatus.OK:
            for event in asked.get("logEvents", []):
                _count_line(event.get("message", ""))
        return answer

    cloudwatch_logs._put_log_events = put_and_count


def _count_line(message: str) -> None:
    if '"_aws"' not in message:
        return
    line = json.loads(message)
    for directive in line["_aws"]["CloudWatchMetrics"]:
        for names in directive["Dimensions"]:
            dimensions = {name: line[name] for name in names}
            for metric in directive["Metrics"]:
                value = line[metric["Name"]]
                values = value if isinstance(value, list) else [value]
                count(directive["Namespace"], metric["Name"], dimensions, values)


def count_messages() -> None:
    for action, metric in _COUNTED.items():
        sqs._HANDLERS[action] = _counting(sqs._HANDLERS[action], metric)
    deliver = eventbridge._dispatch_to_sqs

    def deliver_and_count(target: Any, *more: Any) -> Any:
        name = str(target).rpartition(":")[2]
        count("AWS/SQS", "NumberOfMessagesSent", {"QueueName": name}, [1])
        return deliver(target, *more)

    eventbridge._dispatch_to_sqs = deliver_and_count


def _counting(handle: Callable[..., Any], metric: str) -> Callable[..., Any]:
    def note(url: str, answer: _Row) -> _Row:
        name = url.rstrip("/").rpartition("/")[2]
        lists = [answer[key] for key in ("Messages", "Successful") if key in answer]
        number = sum(map(len, lists)) if lists or metric.endswith("Received") else 1
        if number:
            count("AWS/SQS", metric, {"QueueName": name}, [1] * number)
        return answer

    def handle_and_count(asked: _Row, url: str) -> Any:
        answer = handle(asked, url)
        where = asked.get("QueueUrl") or url
        if isinstance(answer, dict):
            return note(where, answer)

        async def later() -> _Row:
            return note(where, await answer)

        return later()

    return handle_and_count


def answer_stats() -> None:
    start = cloudwatch_logs._start_query

    def start_and_answer(asked: _Row) -> Any:
        stages = cloudwatch_logs._split_insights_pipes(asked.get("queryString", ""))
        has_stats = any(stage.startswith("stats ") for stage in stages)
        # ministack knows no stats, so it need not search the whole time.
        answer = start(asked | {"endTime": asked["startTime"]} if has_stats else asked)
        if answer[0] == HTTPStatus.OK and has_stats:
            found = cloudwatch_logs._collect_query_records(
                cloudwatch_logs._resolve_query_log_groups(asked),
                asked["startTime"],
                asked["endTime"],
            )
            rows = [_fields(record) for record in found]
            query = cloudwatch_logs._queries[json.loads(answer[2])["queryId"]]
            query["results"] = [
                [{"field": name, "value": str(value)} for name, value in row.items()]
                for row in run_stages(stages, rows)
            ]
        return answer

    cloudwatch_logs._start_query = start_and_answer


def _fields(record: _Row) -> _Row:
    """Returns a line with the fields that Logs Insights finds in its JSON."""
    message = record["@message"]
    return {**_read(message), "@timestamp": record["_timestamp_ms"], "@message": message}


@lru_cache(maxsize=100_000)  # `once status` searches the same day twice
def _read(message: str) -> _Row:
    with suppress(ValueError):
        said = json.loads(message)
        return said if isinstance(said, dict) else {}
    return {}


def run_stages(stages: Iterable[str], rows: list[_Row]) -> list[_Row]:
    """Runs the stages of a query that the commands use; others are refused."""
    for stage in stages:
        name, _, rest = stage.partition(" ")
        match name:
            case "filter":
                conditions = [_condition(part.strip()) for part in rest.split(" and ")]
                rows = [row for row in rows if all(holds(row) for holds in conditions)]
            case "stats":
                rows = list(_stats(rest, rows))
            case _:
                raise ValueError(f"The local stack does not know the stage {stage}.")
    return rows


def _condition(text: str) -> Callable[[_Row], bool]:
    if field := re.fullmatch(r"ispresent\((\S+)\)", text):
        return lambda row: row.get(field[1]) is not None
    if compared := re.fullmatch(r'(\S+) != "([^"]*)"', text):
        return lambda row: str(row.get(compared[1])) != compared[2]
    raise ValueError(f"The local stack does not know the condition {text}.")


def _stats(text: str, rows: Iterable[_Row]) -> Iterator[_Row]:
    functions, _, by = text.partition(" by ")
    names = [name.strip() for name in by.split(",")]
    groups: dict[tuple[Any, ...], list[_Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(name) for name in names), []).append(row)
    for values, members in groups.items():
        # What is absent is no field of the row that comes back.
        found = {
            name: value for name, value in zip(names, values, strict=True) if value is not None
        }
        for function in functions.split(","):
            called, _, alias = function.strip().partition(" as ")
            found[alias] = _aggregate(called, members)
        yield found


def _aggregate(called: str, members: list[_Row]) -> Any:
    if called == "count(*)":
        return len(members)
    if newest := re.fullmatch(r"max\((\S+)\)", called):
        return max(member[newest[1]] for member in members)
    raise ValueError(f"The local stack does not know the function {called}.")
