"""The rows that pacing keeps, as a table would answer; a test holds it against DynamoDB's own
conditions."""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

from once_pacing import steps
from once_pacing.breaker import Open, Probe, Row
from once_pacing.breaker_row import MOST_FAILED


@dataclass
class PaceTable:
    """The breaker's row and the slots."""

    row: Row | None = None
    keys: set[str] = field(default_factory=set)
    paused_ms: int | None = None
    used: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    def take(self, step: Any, now_ms: int) -> Any:
        """Does a step's request to the table, and returns what the Lambda's handler would."""
        match step:
            case steps.ReadRow():
                return self.row
            case Open(seen, until_ms):
                there = self.row or Row()
                if self.row and there.since_ms == seen.since_ms and there.open_until_ms is None:
                    self.row = replace(there, open_until_ms=until_ms)
                    return True
                return None
            case Probe(seen, until_ms):
                there = self.row or Row()
                if self.row and (there.since_ms, there.open_until_ms, there.not_before_ms) == (
                    seen.since_ms,
                    seen.open_until_ms,
                    seen.not_before_ms,
                ):
                    self.row = replace(there, open_until_ms=until_ms)
                    return True
                return None
            case steps.EndProbe(until_ms):
                if self.row and self.row.open_until_ms == until_ms:
                    self.row = replace(self.row, open_until_ms=now_ms)
                    return True
                return None
            case steps.NoteFailure(started_ms, keys):
                return self._note_failure(started_ms, keys)
            case steps.NoteRateLimited(started_ms, until_ms):
                there = self.row or Row(since_ms=started_ms)
                if there.not_before_ms is not None and there.not_before_ms >= until_ms:
                    return None
                since_ms = started_ms if there.since_ms is None else there.since_ms
                self.row = replace(there, since_ms=since_ms, not_before_ms=until_ms)
                return True
            case steps.Clear(started_ms):
                row = self.row
                if (
                    row
                    and (row.not_before_ms is None or row.not_before_ms < started_ms)
                    and row.since_ms is not None
                    and row.since_ms < started_ms
                ):
                    self.row, self.keys = None, set()
                    return True
                return None
            case steps.TakeTokens(slot, wanted, quota):
                before = self.used[slot]
                if before >= quota:
                    return None
                self.used[slot] = before + wanted
                return before
            case steps.GiveBackTokens(slot, tokens):
                if self.used[slot] < tokens:
                    return None
                self.used[slot] -= tokens
                return True
        raise TypeError(f"not of the table: {step}")

    def pause(self, reason: str, until_ms: int, now_ms: int) -> None:
        """Pauses requests as `once pause` does."""
        there = self.row or Row()
        since_ms = now_ms if there.since_ms is None else there.since_ms
        self.paused_ms = now_ms if there.held is None else self.paused_ms
        self.row = replace(there, since_ms=since_ms, not_before_ms=until_ms, held=reason)

    def resume(self) -> None:
        """Resumes requests as `once resume` does."""
        row, failed = self.row, bool(self.keys)
        self.keys = set()
        self.row = Row(row.since_ms) if row and (failed or row.since_ms != self.paused_ms) else None

    def _note_failure(self, started_ms: int, keys: Any) -> Any:
        if keys and len(self.keys) >= MOST_FAILED:
            return None
        there = self.row or Row()
        self.keys |= set(keys)
        since_ms = started_ms if there.since_ms is None else there.since_ms
        self.row = replace(there, since_ms=since_ms, failed=len(self.keys))
        return True
