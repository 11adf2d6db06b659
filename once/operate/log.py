"""Searches the outcome log: by Logs Insights over days, and by filter over the last minutes."""

import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from once.errors import OnceError
from once.operate.stack import Stack
from once.records import OutcomeRecord

MOST = 10_000  # what Logs Insights answers at most
_POLL_SECONDS = 0.3
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def search(stack: Stack, text: str, since_ms: int) -> list[OutcomeRecord]:
    """The records since then that hold this text, oldest first; of too many the newest."""
    group = stack.outputs["OutcomeLogGroupName"]
    lines = insights(stack, group, since_ms, _SPECIAL.sub(r"\\\g<0>", text))
    records = (OutcomeRecord.read(line, at_ms) for at_ms, line in lines)
    return [record for record in records if record is not None]


def insights(
    stack: Stack, group: str, since_ms: int, *patterns: str, until_ms: int | None = None
) -> list[tuple[int, str]]:
    """Lines of a log group that match all, with when they were logged, oldest first."""
    logs = stack.client("logs")
    filters = [f"filter @message like /{pattern.replace('/', '[/]')}/" for pattern in patterns]
    query = logs.start_query(
        logGroupName=group,
        startTime=since_ms // 1000,
        endTime=(until_ms or now_ms()) // 1000 + 1,
        queryString=" | ".join(
            ["fields @timestamp, @message", *filters, "sort @timestamp desc", f"limit {MOST}"]
        ),
    )["queryId"]
    while (answer := logs.get_query_results(queryId=query))["status"] in ("Scheduled", "Running"):
        time.sleep(_POLL_SECONDS)
    if answer["status"] != "Complete":
        raise OnceError(f"The search of {group} ended as {answer['status']}: look at fewer days.")
    return [_line(row) for row in reversed(answer["results"])]


def recent(stack: Stack, pattern: str, since_ms: int, most: int = MOST) -> Iterator[OutcomeRecord]:
    """Records since then, oldest first; `pattern` spares reading what the caller drops anyway."""
    found = stack.client("logs").get_paginator("filter_log_events")
    answers = found.paginate(
        logGroupName=stack.outputs["OutcomeLogGroupName"],
        startTime=since_ms,
        filterPattern=pattern,
        PaginationConfig={"MaxItems": most},
    )
    for page in answers:
        for event in page["events"]:
            record = OutcomeRecord.read(event["message"], event["timestamp"])
            if record is not None:
                yield record


def _line(row: list[dict[str, Any]]) -> tuple[int, str]:
    fields = {cell["field"]: cell["value"] for cell in row}
    at = datetime.fromisoformat(fields["@timestamp"]).replace(tzinfo=UTC)
    return round(at.timestamp() * 1000), fields["@message"]
