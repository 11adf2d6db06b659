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
    return next((r for r in history(message_id, records) if r.outcome in SETTLED), None)


def history(message_id: str, records: Records) -> list[OutcomeRecord]:
    """All that became of a message; one that was deferred goes on as another."""
    found = list(records.get(message_id, ()))
    deferred_to = next((record.deferred_to for record in found if record.deferred_to), None)
    return found + history(deferred_to, records) if deferred_to else found
