"""Reads the stack for all pages at once, and only while one of them looks."""

import threading
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from botocore.exceptions import BotoCoreError, ClientError

from once.console.rows import SHOWN, Filter, Place, Row, row
from once.errors import OnceError
from once.operate import claims, log, status
from once.operate.causes import earlier_of
from once.operate.claims import Claim
from once.operate.claims import Status as Claimed
from once.operate.refusals import plain
from once.operate.stack import Stack
from once.operate.status import Status
from once.operate.story import Event, tell
from once.outcomes import SETTLED, Outcome
from once.records import OutcomeLog, OutcomeRecord

# Of reading, looking and completing. On AWS a search of the log for what came since costs nothing,
# a look at the status some metrics and a query, and completing a query over what the log keeps.
EVERY_SECONDS = {True: (0.25, 2.0, 0.25), False: (1.0, 30.0, 10.0)}
BACK_MS = {True: 86_400_000, False: 3_600_000}
_DAY_MS = 86_400_000
_ALL_MS = 14 * _DAY_MS  # as far as `once explain` looks
_KEPT = 30_000  # records; of more the subjects go that were quiet for longest
_FRESH_SECONDS = 1.0
_AT_ONCE = 20  # subjects that are completed in one search
_NAMED = 200  # messages that a page looks for beyond its end
_SAID_AGAIN = 1_000  # subjects at a time, so that new rows need not wait for them
_STILL_MS = 60_000  # how often it is said again for how long nothing tried what is due


@dataclass
class Older:
    """A page of the table that is not the newest, and where the next one begins."""

    rows: list[Row]
    next: Place
    since_ms: int
    until_ms: int


class Feed:
    """The newest rows and the status, kept up to date while somebody listens."""

    def __init__(self, stack: Stack, wait: Callable[[float], object] = time.sleep) -> None:
        self.stack = stack
        self.status: Status | None = None
        self.closed = False
        self._troubles: dict[str, str] = {}
        self._wait = wait
        self._log: OutcomeLog | None = None
        self._edge_ms = 0  # what is older is not, or no longer, in here
        self._records: dict[str, list[OutcomeRecord]] = defaultdict(list)
        self._claims: dict[str, list[Claim]] = {}
        self._rows: dict[str, list[Row]] = {}
        self._ordered: list[Row] = []
        self._again_ms: dict[str, int] = {}  # when something else is to be said of a subject
        self._unclear: dict[str, None] = {}  # subjects of which the records here do not say enough
        self._doubted: set[str] = set()  # the same of those on which somebody acted
        self._sought: set[str] = set()  # messages that the whole log was searched for
        self.version = 0
        self._paused = ""  # why calls do not flow, as the newest status says it
        self._read_at = 0.0
        self._lock = threading.Lock()
        self._completing = threading.Lock()
        self._listeners = 0
        self._heard = threading.Event()
        works = (self.read, self.look, self.complete)
        for work, every in zip(works, EVERY_SECONDS[stack.embedded], strict=True):
            threading.Thread(target=self._keep, args=(work, every), daemon=True).start()

    @property
    def trouble(self) -> str:
        """What cannot be read now, of any kind of work."""
        return " ".join(dict.fromkeys(self._troubles.values()))

    def rows(self, wanted: Filter, after: Place | None = None) -> list[Row]:
        """The newest that fit, newest first; or those that come after a place in the table."""
        ordered, paused = self._ordered, self._paused
        start = bisect_right(ordered, after, key=lambda one: one.place) if after else 0
        found: list[Row] = []
        for one in ordered[start:]:
            if wanted.takes(one):
                found.append(one.known_now(paused))
                if len(found) == SHOWN:
                    break
        return found

    def near(self, name: str) -> list[Row]:
        """Those that somebody may mean who typed a part of an id, or words."""
        wanted = Filter(id=name)
        return [one.known_now(self._paused) for one in self._ordered if wanted.finds(one)][:SHOWN]

    def older(self, after: Place, wanted: Filter) -> Older:
        """As far as it reaches in here; else a day of the log, searched once."""
        if rows := self.rows(wanted, after):
            return Older(rows, rows[-1].place, rows[-1].at_ms, -after[0])
        until_ms = min(-after[0], self._edge_ms or log.now_ms())
        since_ms = max(0, until_ms - _DAY_MS)
        records = log.read(self.stack, ['"messageId"'], since_ms, until_ms)
        if len(records) >= log.MOST:
            since_ms = records[0].recorded_at_ms
        if unsettled := _unsettled(records)[:_NAMED]:
            # What was handed back before the end of the page may have been settled after it.
            records = _merged(records, log.read(self.stack, unsettled, until_ms))
        of = _by_home(records)
        events = {home: tell(of[home], [], log.now_ms()) for home in of}
        made = {home: [row(one) for one in events[home]] for home in of}
        here = {one.id for one in self._ordered}

        def page() -> list[Row]:
            found = (
                one
                for rows in made.values()
                for one in rows
                if since_ms <= one.at_ms <= until_ms and one.place > after and one.id not in here
            )
            return sorted(filter(wanted.takes, found), key=lambda one: one.place)

        homes = dict.fromkeys(one.home for one in page()[:SHOWN])
        unclear = [home for home in homes if _leaves_open(of[home], events[home])][:_AT_ONCE]
        found, known = self._whole(unclear, unclear)
        for home in unclear:
            whole = tell(_merged(found[home], of[home]), known[home], log.now_ms())
            made[home] = [row(one) for one in _shown(whole, since_ms - 1)]
        rows = page()
        end = rows[SHOWN - 1].place if len(rows) > SHOWN else (1 - since_ms, "")
        return Older(rows[:SHOWN], end, since_ms, until_ms)

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
            self._guarded(self.complete)
        if self.status is None or not self._listeners:
            self._guarded(self.look)

    def close(self) -> None:
        """Called by Ctrl-C too, in the midst of anything: it may wait for no lock."""
        self.closed = True

    def read(self) -> None:
        """The records that came since, and the rows that follow from them."""
        with self._lock:
            now_ms = log.now_ms()
            if self._log is None:
                self._edge_ms = now_ms - BACK_MS[self.stack.embedded]
                group = self.stack.outputs["OutcomeLogGroupName"]
                self._log = OutcomeLog(self.stack.client("logs"), group, self._edge_ms)
            changed = {_home(record): None for record in self._noted(self._log)}
            for home in changed:
                # Who worked on it when its claim was read has written a record since.
                self._claims[home] = _settled(self._claims.get(home, []))
            due = [home for home, at_ms in self._again_ms.items() if at_ms <= now_ms]
            self._tell(changed | dict.fromkeys(due[:_SAID_AGAIN]), now_ms, changed)
            self._read_at = time.monotonic()

    def look(self) -> None:
        self.status = status.of(self.stack, log.now_ms())
        waits = (one.said for one in self.status.waiting if one.reason == "BREAKER_OPEN")
        if (paused := next(waits, "")) != self._paused:
            self._paused = paused
            self.version += 1

    def complete(self) -> None:
        """Adds what the records in here leave open: of the log before them, and of the claims."""
        with self._completing:
            with self._lock:
                homes = [one for one in self._unclear if one in self._records][:_AT_ONCE]
                lacking = [one for one in homes if _missing(self._records[one]) - self._sought]
                for home in homes:
                    del self._unclear[home]  # what comes meanwhile may leave it open again
                noted = {home: len(self._records[home]) for home in homes}
                self._doubted.difference_update(homes)
            try:
                found, known = self._whole(homes, lacking)
            except Exception:
                self._unclear |= dict.fromkeys(homes)
                raise
            with self._lock:
                homes = [one for one in homes if one in self._records]
                for home in homes:
                    self._sought |= _missing(self._records[home])
                    came = len(self._records[home]) > noted[home]
                    self._records[home] = _merged(found[home], self._records[home])
                    # Who was at work when the claims were read has been recorded since.
                    self._claims[home] = _settled(known[home]) if came else known[home]
                self._tell(homes, log.now_ms())

    def doubt(self, home: str) -> None:
        """After an act of which no record is written."""
        with self._lock:
            self._doubted.add(home)
            if home in self._records:
                self._unclear[home] = None

    def _whole(
        self, homes: Collection[str], lacking: Collection[str]
    ) -> tuple[dict[str, list[OutcomeRecord]], dict[str, list[Claim]]]:
        """As `once explain` reads them: the claims, and of the lacking all that the log has."""
        records = log.read(self.stack, lacking, log.now_ms() - _ALL_MS) if lacking else []
        return _by_home(records), {home: claims.of_subject(self.stack, home)[0] for home in homes}

    def _tell(self, homes: Collection[str], now_ms: int, changed: Collection[str] = ()) -> None:
        """The lock is held."""
        for home in homes:
            known = self._claims.get(home, [])
            events = _shown(tell(self._records[home], known, now_ms), self._edge_ms)
            if home in changed:
                self._unclear.pop(home, None)
                if home in self._doubted or _leaves_open(self._records[home], events, self._sought):
                    self._unclear[home] = None
            self._rows[home] = [row(one, home in self._unclear) for one in events]
            self._again_ms.pop(home, None)
            if changes := _changes_ms(events, known, now_ms):
                self._again_ms[home] = min(changes)
        if homes:
            self._forget()
            every = (one for rows in self._rows.values() for one in rows)
            self._ordered = sorted(
                (one for one in every if one.at_ms > self._edge_ms), key=lambda one: one.place
            )
            self.version += 1

    def _noted(self, outcomes: OutcomeLog) -> Iterator[OutcomeRecord]:
        for record in outcomes.new():
            self._records[_home(record)].append(record)
            yield record

    def _forget(self) -> None:
        over = sum(map(len, self._records.values())) - _KEPT
        if over <= 0:
            return
        quiet = sorted(self._records, key=lambda home: self._records[home][-1].recorded_at_ms)
        for home in quiet:
            records = self._records.pop(home)
            self._edge_ms = max(self._edge_ms, records[-1].recorded_at_ms)
            for of in (self._rows, self._claims, self._again_ms, self._unclear):
                of.pop(home, None)
            over -= len(records)
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
            self._troubles.pop(work.__name__, None)
        except OnceError as error:
            self._troubles[work.__name__] = str(error)
        except (BotoCoreError, ClientError) as error:
            self._troubles[work.__name__] = str(plain(error, self.stack.embedded))


def _settled(known: Iterable[Claim]) -> list[Claim]:
    return [one for one in known if one.status is not Claimed.IN_PROGRESS]


def _home(record: OutcomeRecord) -> str:
    """What is said together: a subject, or a message that holds no event."""
    return record.pk or record.message_id


def _by_home(records: Iterable[OutcomeRecord]) -> dict[str, list[OutcomeRecord]]:
    found: dict[str, list[OutcomeRecord]] = defaultdict(list)
    for record in records:
        found[_home(record)].append(record)
    return found


def _merged(*found: Iterable[OutcomeRecord]) -> list[OutcomeRecord]:
    return sorted({one for records in found for one in records}, key=lambda one: one.recorded_at_ms)


def _unsettled(records: Iterable[OutcomeRecord]) -> list[str]:
    ends = {one.message_id: one.outcome in SETTLED for one in records}
    return [message_id for message_id, is_settled in ends.items() if not is_settled]


def _missing(records: Collection[OutcomeRecord]) -> set[str]:
    """The messages that they lost to and of which they say nothing."""
    met = {earlier_of(one) for one in records if one.outcome in (Outcome.DUPLICATE, Outcome.STALE)}
    return {one for one in met if one} - {one.message_id for one in records}


def _leaves_open(
    records: Collection[OutcomeRecord], events: Iterable[Event], sought: Collection[str] = ()
) -> bool:
    """Whether the claims or older records may say more."""
    return bool(_missing(records) - set(sought)) or any(map(_is_open, events))


def _is_open(event: Event) -> bool:
    """It has no end here, or it acted and was taken up once more, as after `once forget`."""
    own = [
        one
        for message in event.messages
        for one in message.deliveries
        if one.reason not in ("SETTLED_BEFORE", "HELD")
    ]
    acts = [one.at_ms for one in own if one.outcome is Outcome.PROCESSED]
    after = {Outcome.PROCESSED, Outcome.RETRY, Outcome.PARKED}
    return event.outcome is None or any(
        one.at_ms > min(acts, default=one.at_ms) and one.outcome in after for one in own
    )


def _shown(events: Iterable[Event], since_ms: int) -> list[Event]:
    """A claim whose messages are in no record is for `once explain` alone."""
    return [
        one
        for one in events
        if any(d.at_ms > since_ms for message in one.messages for d in message.deliveries)
    ]


def _changes_ms(events: Iterable[Event], known: Iterable[Claim], now_ms: int) -> list[int]:
    """When something else is to be said of what waits or is being worked on."""
    due = [
        message.deliveries[-1].due_ms
        for event in events
        for message in event.messages
        if message.outcome is Outcome.RETRY
    ]
    return [
        *(at_ms if at_ms > now_ms else now_ms + _STILL_MS for at_ms in due),
        *(now_ms + 1_000 for claim in known if claim.held(now_ms)),
    ]
