"""Finds the events that wait: each was put back and is not settled.

Nobody can look at delayed messages, so the records tell. While requests are paused or the breaker
is open, an event that comes back writes no record unless its reason has changed: its last record
may be days old.
"""

from collections import defaultdict
from dataclasses import dataclass

from once.model.findings import OF_DESTINATION
from once.model.outcomes import SETTLED, Outcome
from once.model.pace import FOR_THE_BREAKER, Breaker, State
from once.model.records import GRACE_MS, LONGEST_DELAY_MS, Record
from once.model.status import Waits
from once.stack import log
from once.stack.facade import Stack

_HOUR_MS = 3_600_000
_LOOKS_BACK_MS = (_HOUR_MS, 24 * _HOUR_MS, 11 * 24 * _HOUR_MS)
_NAMED = 50  # ids that fit into one search
_SETTLED = f'"outcome": ?"({"|".join(sorted(SETTLED))})"'


@dataclass(frozen=True)
class Waiting:
    """The newest record of each event that waits."""

    records: list[Record]
    is_complete: bool
    """False if more can wait than one search of the log returns; then the newest are known."""
    failure: Record | None = None
    """The newest failed request. Its event may have met another reason since."""


def read_waiting(stack: Stack, breaker: Breaker, queued: int, now_ms: int) -> Waiting:
    """Reads what waits, with `queued` messages on the queue; looks back further until records of
    so many events are found, or of no more."""
    waiting = Waiting([], True)
    for ago_ms in _LOOKS_BACK_MS if queued else ():
        before = len(waiting.records)
        waiting = _read_since(stack, breaker, now_ms - ago_ms, now_ms)
        is_all = len(waiting.records) >= queued or 0 < len(waiting.records) == before
        if is_all or not waiting.is_complete:
            break
    return waiting


def _read_since(stack: Stack, breaker: Breaker, since_ms: int, now_ms: int) -> Waiting:
    put_back = log.search(stack, f'"{Outcome.RETRY}"', since_ms=since_ms)
    waits = [record for record in put_back.records if record.outcome is Outcome.RETRY]
    newest = {record.message_id: record for record in waits}
    if not newest:
        return Waiting([], put_back.is_complete)
    pattern = _SETTLED if len(newest) > _NAMED else log.any_of(*newest)
    oldest_ms = min(record.recorded_at_ms for record in newest.values())
    ends = log.search(stack, pattern, since_ms=oldest_ms)
    for end in ends.records:
        put_back_last = newest.get(end.message_id)
        is_later = put_back_last and end.recorded_at_ms >= put_back_last.recorded_at_ms
        if end.is_settled and is_later:
            del newest[end.message_id]
    is_open = breaker.state is not State.CLOSED
    waits = [
        record
        for record in newest.values()
        if is_open or record.due_at_ms + LONGEST_DELAY_MS + GRACE_MS > now_ms
    ]
    since_ms = breaker.since_ms or now_ms  # failures of an earlier outage are another story
    failures = [
        record
        for record in put_back.records
        if record.reason in OF_DESTINATION and record.recorded_at_ms >= since_ms
    ]
    failures = [one for one in failures if one.requests] or failures
    is_complete = put_back.is_complete and ends.is_complete
    return Waiting(waits, is_complete, failures[-1] if failures else None)


def group_by_reason(waiting: Waiting, breaker: Breaker, now_ms: int) -> list[Waits]:
    """Groups what waits, the largest group first."""
    groups: dict[str, list[Record]] = defaultdict(list)
    for record in waiting.records:
        groups[record.reason or "RETRY"].append(record)
    made = []
    for code, records in groups.items():
        newest = max(records, key=lambda record: record.recorded_at_ms)
        # An event that waits with the others knows less than the one that met the cause.
        witness = max(records, key=lambda one: (bool(one.requests), one.recorded_at_ms))
        oldest = min(records, key=_read_since_ms)
        is_paced = code in FOR_THE_BREAKER
        last_due_ms = max(record.due_at_ms for record in records)
        if last_due_ms < now_ms:  # it came back since, and wrote no record
            last_due_ms = now_ms + LONGEST_DELAY_MS
        made.append(
            Waits(
                reason=code,
                sentence=breaker.explain_wait(code, now_ms) if is_paced else witness.why,
                families=sorted({record.family for record in records if record.family}),
                events=len(records),
                since_ms=_read_since_ms(oldest),
                newest_ms=newest.recorded_at_ms,
                last_due_ms=last_due_ms,
                example=oldest.key.subject.id if oldest.key else oldest.message_id,
            )
        )
    return sorted(made, key=lambda waits: (-waits.events, waits.reason))


def _read_since_ms(record: Record) -> int:
    return record.waits_since_ms or record.recorded_at_ms
