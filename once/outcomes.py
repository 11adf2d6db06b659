"""Reads the outcome log of a stack: what became of each message, as the state machine wrote."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# Executions end in another order than they stamp their records, by less than this.
_OVERLAP_MS = 6_000


@dataclass(frozen=True)
class OutcomeRecord:
    """One message in one execution; a message that was handed back has several."""

    message_id: str
    outcome: str
    reason: str | None
    pk: str | None
    sk: str | None
    because: str | None
    copy_of: str | None
    deferred_to: str | None  # the fresh message that took this one's place
    recorded_at_ms: int


class OutcomeLog:
    """Each call of `new` yields the records that no call before it did."""

    def __init__(self, logs: Any, group: str) -> None:
        self._logs = logs
        self._group = group
        self._newest_ms = 0
        self._seen: dict[str, int] = {}

    def new(self) -> Iterator[OutcomeRecord]:
        start = max(0, self._newest_ms - _OVERLAP_MS)
        self._seen = {event: at for event, at in self._seen.items() if at >= start}
        pages = self._logs.get_paginator("filter_log_events").paginate(
            logGroupName=self._group, startTime=start
        )
        for page in pages:
            for event in page["events"]:
                if event["eventId"] in self._seen:
                    continue
                self._seen[event["eventId"]] = event["timestamp"]
                self._newest_ms = max(self._newest_ms, event["timestamp"])
                record = _record(event)
                if record is not None:
                    yield record


def _record(event: dict[str, Any]) -> OutcomeRecord | None:
    said = json.loads(event["message"])
    if "messageId" not in said:
        return None  # the batch's metrics
    return OutcomeRecord(
        message_id=said["messageId"],
        outcome=said["outcome"],
        reason=said.get("reason"),
        pk=said.get("pk"),
        sk=said.get("sk"),
        because=said.get("because"),
        copy_of=said.get("copyOf"),
        deferred_to=said.get("deferredTo"),
        recorded_at_ms=event["timestamp"],
    )
