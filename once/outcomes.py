"""Reads the outcome log of a stack: what became of each message, as the state machine wrote."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from once.records import OutcomeRecord
from once.run.report import SETTLED

Records = Mapping[str, Sequence[OutcomeRecord]]

# Executions end in another order than they stamp their records, by less than this.
_OVERLAP_MS = 6_000


class OutcomeLog:
    """Each call of `new` yields the records that no call before it did."""

    def __init__(self, logs: Any, group: str, since_ms: int = 0) -> None:
        self._logs = logs
        self._group = group
        self._newest_ms = since_ms
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
                record = OutcomeRecord.read(event["message"], event["timestamp"])
                if record is not None:
                    yield record


def settled(message_id: str, records: Records) -> OutcomeRecord | None:
    """What a message ended as."""
    return next((r for r in records.get(message_id, ()) if r.outcome in SETTLED), None)
