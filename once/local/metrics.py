"""Lets ministack count what `once status` reads: received messages, and Logs Insights' `stats`.

docs.aws.amazon.com: SQS, "Available CloudWatch metrics for Amazon SQS"; CloudWatch Logs,
"CloudWatch Logs Insights language query syntax".
"""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from ministack.services import (
    cloudwatch,
    cloudwatch_logs,
    sqs,
)

_Row = dict[str, Any]


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


def answer_stats() -> None:
    start = cloudwatch_logs._start_query

    def start_and_answer(asked: _Row) -> Any:
        stages = cloudwatch_logs._split_insights_pipes(asked.get("queryString", ""))
        has_stats = any(stage.startswith("stats ") for stage in stages)
        # ministack knows no stats, so it need not search the whole time.
        answer = start(asked | {"endTime": asked["startTime"]} if has_stats else asked)
        if answer[0] == HTTPStatus.OK and has_stats:
            records = cloudwatch_logs._collect_query_records(
                cloudwatch_logs._resolve_query_log_groups(asked),
                asked["startTime"],
                asked["endTime"],
            )
            rows = [_fields(record) for record in records]
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
        fields = json.loads(message)
        return fields if isinstance(fields, dict) else {}
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
        row = {name: value for name, value in zip(names, values, strict=True) if value is not None}
        for function in functions.split(","):
            called, _, alias = function.strip().partition(" as ")
            row[alias] = _aggregate(called, members)
        yield row


def _aggregate(called: str, members: list[_Row]) -> Any:
    if called == "count(*)":
        return len(members)
    if newest := re.fullmatch(r"max\((\S+)\)", called):
        return max(member[newest[1]] for member in members)
    raise ValueError(f"The local stack does not know the function {called}.")
