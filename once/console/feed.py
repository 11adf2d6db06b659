"""The newest events and the status, read for all pages together and only when one of them asks."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from statistics import quantiles

from botocore.exceptions import BotoCoreError, ClientError

from once.console.rows import SHOWN, Filter, Row, make_row
from once.errors import OnceError
from once.keys import Key
from once.operate import arrivals, log
from once.operate.refusals import plain
from once.operate.stack import Stack
from once.operate.status import Status, read_status
from once.operate.story import tell
from once.outcomes import Outcome
from once.records import OutcomeLog, OutcomeRecord

# Of reading rows and of reading the status. On AWS a search of the log for what came since costs
# nothing, and a status some metrics and queries.
EVERY_SECONDS = {True: (0.3, 2.0), False: (1.0, 30.0)}
BACK_MS = {True: 86_400_000, False: 3_600_000}
_DAY_MS = 86_400_000
_HOUR_MS = 3_600_000
_KEPT = 30_000  # records; of more the subjects go that were quiet for longest
_TOLD_AGAIN_SECONDS = 10  # what is said of an event that waits changes with time


class Feed:
    """Holds what the pages show of the stack."""

    def __init__(self, stack: Stack, clock: Callable[[], float] = time.monotonic) -> None:
        self.stack = stack
        self.status: Status | None = None
        self.status_as_of_ms: int | None = None
        self._clock = clock
        self._troubles: dict[str, str] = {}
        self._log: OutcomeLog | None = None
        self._edge_ms = 0  # older records are not, or no longer, here
        self._records: dict[str, list[OutcomeRecord]] = defaultdict(list)
        self._rows: dict[str, list[Row]] = {}
        self._ordered: list[Row] = []
        self._changed: dict[str, None] = {}  # subjects whose rows are older than their records
        self._is_another = False  # the local stack was started again
        self._read_at = self._looked_at = self._told_at = float("-inf")
        self._reading, self._looking = threading.Lock(), threading.Lock()

    @property
    def trouble(self) -> str:
        """Says why the stack cannot be read now; empty if it can."""
        return " ".join(dict.fromkeys(self._troubles.values()))

    def refresh_rows(self) -> None:
        with self._reading:
            if self._clock() - self._read_at >= EVERY_SECONDS[self.stack.is_local][0]:
                self._guard("rows", self._read)
                self._read_at = self._clock()

    def refresh_status(self) -> None:
        with self._looking:
            if self._clock() - self._looked_at >= EVERY_SECONDS[self.stack.is_local][1]:
                self._guard("status", self._look)
                self._looked_at = self._clock()

    def find_rows(self, wanted: Filter) -> list[Row]:
        """Finds the newest rows that fit, newest first."""
        now_ms = log.now_ms()
        found: list[Row] = []
        for one in self._ordered:
            if wanted.fits(one, now_ms):
                if len(found) >= SHOWN and one.at_ms != found[-1].at_ms:
                    break
                found.append(one)
        return found

    def find_older(self, before_ms: int, wanted: Filter) -> tuple[list[Row], int]:
        """Finds the rows before a time, in the day of the log before it, and where they end."""
        since_ms = before_ms - _DAY_MS
        found = log.search(self.stack, '"messageId"', since_ms=since_ms, until_ms=before_ms)
        rows = (make_row(event) for event in tell(found.records, [], log.now_ms()))
        older = Filter.model_validate(wanted.model_dump() | {"minutes": ""})
        fitting = [one for one in rows if one.at_ms < before_ms and older.fits(one, before_ms)]
        fitting.sort(key=lambda one: one.place)
        shown = fitting[:SHOWN]
        if shown:  # those of one millisecond together: the next page goes by it
            shown += [one for one in fitting[SHOWN:] if one.at_ms == shown[-1].at_ms]
        if shown:
            end_ms = shown[-1].at_ms
        else:
            end_ms = since_ms if found.complete else found.records[0].recorded_at_ms
        later: set[str] = set()  # not settled here, but with records on a newer page
        if waiting := {one.id for one in shown if one.outcome in (None, Outcome.RETRY)}:
            pattern = log.any_of(*sorted(waiting))
            records = log.search(self.stack, pattern, since_ms=before_ms).records
            later = waiting & {record.message_id for record in records}
        return [one for one in shown if one.id not in later], end_ms

    def find_choices(self) -> tuple[list[str], list[str]]:
        """Finds the reasons and the families that there are."""
        rows = self._ordered
        reasons = {reason for one in rows for reason in one.reasons}
        return sorted(reasons), sorted({one.family for one in rows if one.family})

    def find_durations(self) -> tuple[int, int] | None:
        """Finds median and 95th percentile of the last hour's successful requests, in ms."""
        since_ms = log.now_ms() - _HOUR_MS
        durations = [
            record.duration_ms
            for records in list(self._records.values())
            for record in records
            if record.duration_ms is not None and record.recorded_at_ms > since_ms
        ]
        if len(durations) < 2:
            return None
        cuts = quantiles(durations, n=20)
        return round(cuts[9]), round(cuts[18])

    def _read(self) -> None:
        """Reads the records that came since, and makes the rows that follow from them."""
        now_ms = log.now_ms()
        if self._is_another:
            self._is_another, self._log = False, None
            for kept in (self._records, self._rows, self._ordered, self._changed):
                kept.clear()
        if self._log is None:
            self._edge_ms = now_ms - BACK_MS[self.stack.is_local]
            group = self.stack.outputs["OutcomeLogGroupName"]
            self._log = OutcomeLog(self.stack.client("logs"), group, self._edge_ms)
        for record in self._log.new():
            home = record.pk or record.message_id
            self._records[home].append(record)
            self._changed[home] = None
        if self._clock() - self._told_at >= _TOLD_AGAIN_SECONDS:
            self._told_at = self._clock()
            for row in self._ordered[:SHOWN]:
                if row.outcome in (None, Outcome.RETRY):
                    key = Key.parse(row.key) if row.key else None
                    self._changed[str(key.subject) if key else row.id] = None
        for home in self._changed:
            events = tell(self._records.get(home, []), [], now_ms)
            self._rows[home] = [make_row(event) for event in events]
        if self._changed:
            self._changed = {}
            self._forget()
            rows = (one for rows in self._rows.values() for one in rows)
            shown = (one for one in rows if one.at_ms > self._edge_ms)
            self._ordered = sorted(shown, key=lambda one: one.place)

    def _forget(self) -> None:
        over = sum(map(len, self._records.values())) - _KEPT
        if over <= 0:
            return
        for home in sorted(self._records, key=lambda home: self._records[home][-1].recorded_at_ms):
            records = self._records.pop(home)
            self._rows.pop(home, None)
            self._edge_ms = max(self._edge_ms, records[-1].recorded_at_ms)
            over -= len(records)
            if over <= 0:
                break

    def _look(self) -> None:
        now_ms = log.now_ms()
        self.status = read_status(self.stack, now_ms)
        self.status_as_of_ms = now_ms

    def _guard(self, what: str, work: Callable[[], None]) -> None:
        """Keeps what was read before, and says on the page why it is old."""
        try:
            work()
            self._troubles.pop(what, None)
        except OnceError as error:
            self._troubles[what] = str(error)
        except (BotoCoreError, ClientError) as error:
            self._troubles[what] = str(plain(error, self.stack.is_local))
            # A local stack that was started again has another port.
            with suppress(OnceError):
                if self.stack.reconnect():
                    self._is_another = True
                    arrivals.forget(self.stack)
