"""Searches the outcome log: by Logs Insights over days, and by filter over the last minutes."""

import re
import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from once.errors import OnceError
from once.operate.model import Model
from once.operate.stack import Stack
from once.records import OutcomeRecord

MOST = 10_000  # what Logs Insights returns at most
_POLL_SECONDS = 0.3
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")


class Part(StrEnum):
    """A part of the stack that has a log."""

    ENRICHMENT = "enrichment"
    PACING = "pacing"
    DATA_ACTION = "data-action"
    MACHINE = "machine"
    PIPE = "pipe"


GROUPS = {
    Part.ENRICHMENT: "EnrichmentLogGroupName",
    Part.PACING: "PacingLogGroupName",
    Part.DATA_ACTION: "DataActionLogGroupName",
    Part.MACHINE: "ExecutionLogGroupName",
    Part.PIPE: "PipeLogGroupName",
}
"""The outputs that name the log groups."""


class Line(Model):
    """One line of a log."""

    at_ms: int
    text: str


@dataclass(frozen=True)
class Found:
    """Records, oldest first; of more than one search returns, the newest."""

    records: list[OutcomeRecord]
    complete: bool


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def tail(stack: Stack, part: Part, *options: str) -> str:
    """Names AWS's command that shows what a part of the stack wrote; the AWS CLI does not reach a
    local stack."""
    if stack.is_local:
        return ""
    asked = [stack.outputs[GROUPS[part]], "--since", "1h", "--region", stack.region]
    return shlex.join(["aws", "logs", "tail", *asked, *options])


def search(stack: Stack, *patterns: str, since_ms: int, until_ms: int | None = None) -> Found:
    """Searches for the records that match all these patterns."""
    group = stack.outputs["OutcomeLogGroupName"]
    lines = search_lines(stack, group, *patterns, since_ms=since_ms, until_ms=until_ms)
    records = (OutcomeRecord.parse(line.text, line.at_ms) for line in lines)
    return Found([one for one in records if one is not None], len(lines) < MOST)


def any_of(*texts: str) -> str:
    """Returns the pattern of the lines that hold any of these texts."""
    return "|".join(_SPECIAL.sub(r"\\\g<0>", text) for text in texts)


def search_lines(
    stack: Stack, group: str, *patterns: str, since_ms: int, until_ms: int | None = None
) -> list[Line]:
    """Searches a log group for the lines that match all these patterns, oldest first."""
    filters = [f"filter @message like /{pattern.replace('/', '[/]')}/" for pattern in patterns]
    stages = ["fields @timestamp, @message", *filters, "sort @timestamp desc", f"limit {MOST}"]
    found = query(stack, group, " | ".join(stages), since_ms, until_ms)
    return [
        Line(at_ms=epoch_ms(row["@timestamp"]), text=row["@message"]) for row in reversed(found)
    ]


def query(
    stack: Stack, group: str, text: str, since_ms: int, until_ms: int | None = None
) -> list[dict[str, str]]:
    """Asks Logs Insights; each row has its values by the names of the fields."""
    logs = stack.client("logs")
    query_id = logs.start_query(
        logGroupName=group,
        startTime=since_ms // 1000,
        endTime=(until_ms or now_ms()) // 1000 + 1,
        queryString=text,
    )["queryId"]
    while (found := logs.get_query_results(queryId=query_id))["status"] in ("Scheduled", "Running"):
        time.sleep(_POLL_SECONDS)
    if found["status"] != "Complete":
        raise OnceError(f"The search of {group} ended as {found['status']}: use a later --since.")
    return [{cell["field"]: cell["value"] for cell in row} for row in found["results"]]


def filter_lines(
    stack: Stack, group: str, since_ms: int, pattern: str = "", most: int | None = None
) -> Iterator[Line]:
    """Reads the lines since then, oldest first; the emulator ignores `pattern`."""
    pages = stack.client("logs").get_paginator("filter_log_events")
    limited = {} if most is None else {"PaginationConfig": {"MaxItems": most}}
    for page in pages.paginate(
        logGroupName=group, startTime=since_ms, filterPattern=pattern, **limited
    ):
        for event in page["events"]:
            yield Line(at_ms=event["timestamp"], text=event["message"].rstrip())


def epoch_ms(timestamp: str) -> int:
    """Reads a time as Logs Insights writes it; a computed one may be 1.7E12."""
    if re.fullmatch(r"[0-9.]+(E[0-9]+)?", timestamp):
        return round(float(timestamp))
    return round(datetime.fromisoformat(timestamp).replace(tzinfo=UTC).timestamp() * 1000)
