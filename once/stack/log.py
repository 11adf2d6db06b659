"""Reads the outcome log: searches by Logs Insights over days, and what came since the last look."""

import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from once.errors import OnceError
from once.model.records import Record
from once.stack.facade import Stack, read_clock_ms

MOST = 10_000  # Logs Insights returns at most so many lines
MOST_IDS = 50  # so many fit into one search
_POLL_SECONDS = 0.3
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")
# Executions end in another order than they stamp their records, by less than this.
_OVERLAP_MS = 6_000


@dataclass(frozen=True)
class SearchResult:
    """Records, oldest first; the newest, if there are more than one search returns."""

    records: list[Record]
    is_complete: bool


def search(stack: Stack, *patterns: str, since_ms: int, most: int = MOST) -> SearchResult:
    """Searches the outcome log for the records that match all these patterns."""
    lines = search_lines(stack, "OutcomeLogGroupName", *patterns, since_ms=since_ms, most=most)
    records = (Record.parse(text, logged_ms) for logged_ms, text in lines)
    return SearchResult([record for record in records if record is not None], len(lines) < most)


def any_of(*texts: str) -> str:
    """Returns the pattern of the lines that hold any of these texts."""
    return "|".join(_SPECIAL.sub(r"\\\g<0>", text) for text in texts)


def search_lines(
    stack: Stack,
    output: str,
    *patterns: str,
    since_ms: int,
    until_ms: int | None = None,
    most: int = MOST,
) -> list[tuple[int, str]]:
    """Searches the log group of this output; returns lines with their time, oldest first."""
    filters = [f"filter @message like /{pattern.replace('/', '[/]')}/" for pattern in patterns]
    stages = ["fields @timestamp, @message", *filters, "sort @timestamp desc", f"limit {most}"]
    rows = query(stack, output, " | ".join(stages), since_ms, until_ms)
    return [(read_epoch_ms(row["@timestamp"]), row["@message"]) for row in reversed(rows)]


def query(
    stack: Stack, output: str, text: str, since_ms: int, until_ms: int | None = None
) -> list[dict[str, str]]:
    """Asks Logs Insights; each row has its values by the names of the fields."""
    logs, group = stack.client("logs"), stack.outputs[output]
    query_id = logs.start_query(
        logGroupName=group,
        startTime=since_ms // 1000,
        endTime=(until_ms or read_clock_ms()) // 1000 + 1,
        queryString=text,
    )["queryId"]
    running = ("Scheduled", "Running")
    while (answer := logs.get_query_results(queryId=query_id))["status"] in running:
        time.sleep(_POLL_SECONDS)
    if answer["status"] != "Complete":
        raise OnceError(f"The search of {group} ended as {answer['status']}: use a later --since.")
    return [{cell["field"]: cell["value"] for cell in row} for row in answer["results"]]


def read_epoch_ms(timestamp: str) -> int:
    """Reads a time as Logs Insights writes it; a computed one may be 1.7E12."""
    if re.fullmatch(r"[0-9.]+(E[0-9]+)?", timestamp):
        return round(float(timestamp))
    return round(datetime.fromisoformat(timestamp).replace(tzinfo=UTC).timestamp() * 1000)


def read_path(stack: Stack, record: Record) -> list[tuple[str, int]]:
    """Reads the states of an execution with their times, as Step Functions logs them at ALL."""
    logged_ms = record.recorded_at_ms
    lines = search_lines(
        stack,
        "ExecutionLogGroupName",
        record.run.partition("#")[0],
        "StateEntered",
        since_ms=logged_ms - 120_000,
        until_ms=logged_ms + 15_000,
    )
    entered = sorted((json.loads(text) for _, text in lines), key=lambda line: int(line["id"]))
    return [(line["details"]["name"], int(line["event_timestamp"])) for line in entered]


class OutcomeLog:
    """Each call of `read_new` returns the records that no call before it did."""

    def __init__(
        self, client: Callable[[str], Any], outputs: Mapping[str, str], since_ms: int = 0
    ) -> None:
        self._logs, self._group = client("logs"), outputs["OutcomeLogGroupName"]
        self._newest_ms = since_ms
        self._seen: dict[str, int] = {}

    def read_new(self) -> list[Record]:
        start_ms = max(0, self._newest_ms - _OVERLAP_MS)
        pages = self._logs.get_paginator("filter_log_events").paginate(
            logGroupName=self._group, startTime=start_ms
        )
        # After an error on a later page the next call returns all of them.
        events = {event["eventId"]: event for page in pages for event in page["events"]}
        new = [event for event_id, event in events.items() if event_id not in self._seen]
        known = self._seen | {event_id: event["timestamp"] for event_id, event in events.items()}
        self._seen = {event_id: ms for event_id, ms in known.items() if ms >= start_ms}
        self._newest_ms = max([self._newest_ms, *self._seen.values()])
        records = (Record.parse(event["message"], event["timestamp"]) for event in new)
        return [record for record in records if record is not None]
