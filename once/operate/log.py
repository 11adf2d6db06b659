"""Searches the outcome log: by Logs Insights over days, and by filter over the last minutes."""

import re
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

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
    return read(stack, [text], since_ms)


def read(
    stack: Stack, texts: Iterable[str], since_ms: int, until_ms: int | None = None
) -> list[OutcomeRecord]:
    """The same of records that hold any of these texts, and until a time."""
    group = stack.outputs["OutcomeLogGroupName"]
    pattern = "|".join(_SPECIAL.sub(r"\\\g<0>", text) for text in texts)
    lines = insights(stack, group, since_ms, pattern, until_ms=until_ms)
    records = (OutcomeRecord.read(line, at_ms) for at_ms, line in lines)
    return [record for record in records if record is not None]


def insights(
    stack: Stack, group: str, since_ms: int, *patterns: str, until_ms: int | None = None
) -> list[tuple[int, str]]:
    """Lines of a log group that match all, with when they were logged, oldest first."""
    filters = [f"filter @message like /{pattern.replace('/', '[/]')}/" for pattern in patterns]
    query = " | ".join(
        ["fields @timestamp, @message", *filters, "sort @timestamp desc", f"limit {MOST}"]
    )
    found = rows(stack, group, query, since_ms, until_ms)
    return [(epoch_ms(row["@timestamp"]), row["@message"]) for row in reversed(found)]


def rows(
    stack: Stack, group: str, query: str, since_ms: int, until_ms: int | None = None
) -> list[dict[str, str]]:
    """What Logs Insights answers, by the names of the fields."""
    logs = stack.client("logs")
    query_id = logs.start_query(
        logGroupName=group,
        startTime=since_ms // 1000,
        endTime=(until_ms or now_ms()) // 1000 + 1,
        queryString=query,
    )["queryId"]
    while (answer := logs.get_query_results(queryId=query_id))["status"] in (
        "Scheduled",
        "Running",
    ):
        time.sleep(_POLL_SECONDS)
    if answer["status"] != "Complete":
        raise OnceError(f"The search of {group} ended as {answer['status']}: look at fewer days.")
    return [{cell["field"]: cell["value"] for cell in row} for row in answer["results"]]


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


def epoch_ms(timestamp: str) -> int:
    """Epoch milliseconds of a time as Logs Insights writes it."""
    return round(datetime.fromisoformat(timestamp).replace(tzinfo=UTC).timestamp() * 1000)
