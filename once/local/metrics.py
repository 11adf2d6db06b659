"""Lets ministack count what `once status` reads: received messages, and a count of records.

docs.aws.amazon.com: SQS, "Available CloudWatch metrics for Amazon SQS"; CloudWatch Logs,
"CloudWatch Logs Insights language query syntax".
"""

import json
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from ministack.services import (
    cloudwatch,
    cloudwatch_logs,
    sqs,
)

_Row = dict[str, Any]
_COUNT = re.compile(
    r"filter (.+) \| stats count\(\*\) as events, max\(@timestamp\) as last by (.+)"
)
_PRESENT = re.compile(r"ispresent\((\w+)\)")
_EXCLUDED = re.compile(r'(\w+) != "([^"]*)"')


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
        fields = _read(record["@message"])
        is_present = all(name in fields for name in present)
        if is_present and all(fields.get(name) != value for name, value in excluded):
            group = tuple(fields.get(name) for name in names)
            events[group] += 1
            newest[group] = max(newest.get(group, 0), record["_timestamp_ms"])
    for group, number in events.items():
        # What is absent is no field of the row that comes back.
        known = {name: value for name, value in zip(names, group, strict=True) if value is not None}
        yield {**known, "events": number, "last": newest[group]}


def _read(message: str) -> _Row:
    with suppress(ValueError):
        fields = json.loads(message)
        return fields if isinstance(fields, dict) else {}
    return {}
