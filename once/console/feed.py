"""Reads the stack for all pages at once, and only while one of them looks."""

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

from once.console.rows import SHOWN, Filter, Row, row
from once.errors import OnceError
from once.operate import log, status
from once.operate.refusals import plain
from once.operate.stack import Stack
from once.operate.status import Status
from once.operate.story import tell
from once.outcomes import Outcome
from once.records import OutcomeLog, OutcomeRecord

# On AWS a search of the log costs nothing, a look at the status some metrics and a query.
EVERY_SECONDS = {True: (0.25, 2.0), False: (1.0, 30.0)}
BACK_MS = {True: 86_400_000, False: 3_600_000}
_KEPT = 30_000  # records; of more the subjects go that were quiet for longest
_FRESH_SECONDS = 1.0
_RETOLD_SECONDS = 2.0  # how often it is said again of what waits until when


class Feed:
    """The newest rows and the status, kept up to date while somebody listens."""

    def __init__(self, stack: Stack, wait: Callable[[float], object] = time.sleep) -> None:
        self.stack = stack
        self.status: Status | None = None
        self.trouble = ""
        self.closed = False
        self._wait = wait
        self._log: OutcomeLog | None = None
        self._records: dict[str, list[OutcomeRecord]] = defaultdict(list)
        self._rows: dict[str, list[Row]] = {}
        self._ordered: list[Row] = []
        self.version = 0
        self._read_at = self._retold_at = 0.0
        self._lock = threading.Lock()
        self._listeners = 0
        self._heard = threading.Event()
        for work, every in zip((self.read, self.look), EVERY_SECONDS[stack.embedded], strict=True):
            threading.Thread(target=self._keep, args=(work, every), daemon=True).start()

    def rows(self, wanted: Filter) -> list[Row]:
        """The newest that fit, newest first."""
        found: list[Row] = []
        for one in self._ordered:
            if wanted.takes(one):
                found.append(one)
                if len(found) == SHOWN:
                    break
        return found

    def choices(self) -> tuple[list[str], list[str]]:
        """The reasons and the families that there are."""
        rows = self._ordered
        reasons = {reason for one in rows for reason in one.reasons}
        return sorted(reasons), sorted({one.family for one in rows if one.family})

    @contextmanager
    def listening(self) -> Iterator[None]:
        self._listeners += 1
        self._heard.set()
        try:
            yield
        finally:
            self._listeners -= 1
            if not self._listeners:
                self._heard.clear()

    def refresh(self) -> None:
        """For a page that opens when nobody looked for a while."""
        if time.monotonic() - self._read_at > _FRESH_SECONDS:
            self._guarded(self.read)
        if self.status is None or not self._listeners:
            self._guarded(self.look)

    def close(self) -> None:
        self.closed = True
        self._heard.set()

    def read(self) -> None:
        """The records that came since, and the rows that follow from them."""
        with self._lock:
            now_ms = log.now_ms()
            if self._log is None:
                since_ms = now_ms - BACK_MS[self.stack.embedded]
                group = self.stack.outputs["OutcomeLogGroupName"]
                self._log = OutcomeLog(self.stack.client("logs"), group, since_ms)
            changed = {_place(record): None for record in self._noted(self._log)}
            waiting = (
                place
                for place, rows in self._rows.items()
                if any(one.outcome in (Outcome.RETRY, None) for one in rows)
            )
            due = time.monotonic() - self._retold_at > _RETOLD_SECONDS
            again = dict.fromkeys(waiting if due else ())
            self._retold_at = time.monotonic() if due else self._retold_at
            for place in changed | again:
                self._rows[place] = [row(one) for one in tell(self._records[place], [], now_ms)]
            if changed or again:
                every = (one for rows in self._rows.values() for one in rows)
                self._ordered = sorted(every, key=lambda one: (-one.at_ms, one.id))
                self._forget()
                self.version += 1
            self._read_at = time.monotonic()

    def look(self) -> None:
        self.status = status.of(self.stack, log.now_ms())

    def _noted(self, outcomes: OutcomeLog) -> Iterator[OutcomeRecord]:
        for record in outcomes.new():
            self._records[_place(record)].append(record)
            yield record

    def _forget(self) -> None:
        over = sum(map(len, self._records.values())) - _KEPT
        if over <= 0:
            return
        quiet = sorted(self._records, key=lambda place: self._records[place][-1].recorded_at_ms)
        for place in quiet:
            over -= len(self._records.pop(place))
            self._rows.pop(place, None)
            if over <= 0:
                break

    def _keep(self, work: Callable[[], None], every_seconds: float) -> None:
        while not self.closed:
            if self._heard.wait(1.0) and not self.closed:
                self._guarded(work)
                self._wait(every_seconds)

    def _guarded(self, work: Callable[[], None]) -> None:
        """What cannot be read is said on the page, and read again."""
        try:
            work()
            self.trouble = ""
        except OnceError as error:
            self.trouble = str(error)
        except (BotoCoreError, ClientError) as error:
            self.trouble = str(plain(error, self.stack.embedded))


def _place(record: OutcomeRecord) -> str:
    """What is told together: a subject, or a message that holds no event."""
    return record.pk or record.message_id
