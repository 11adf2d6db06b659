"""Goes through a capture: first record by record, then subject by subject in order of arrival.

Between the two passes the facts are in a temporary file: a longer capture takes hardly more memory.
"""

import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import groupby, islice
from pathlib import Path

from once.audit.facts import Broken, Fact, read_event, received_ms
from once.audit.shown import Shown
from once.audit.tally import Tally
from once.lines import Found, Source, find_sources, read_records

_CHUNK = 1_000  # facts that are written together
_LEAP_MS = 7 * 86_400_000

Progress = Callable[[int], None]


class Capture:
    """The files of a capture, and how their events are read."""

    def __init__(self, paths: Sequence[Path], routes: Path | None = None) -> None:
        self.sources: list[Source] = find_sources(paths)
        self._routes = routes

    @property
    def size(self) -> int | None:
        """Returns the size in bytes; None if a pipe does not tell."""
        if all(source.path.is_file() for source in self.sources):
            return sum(source.path.stat().st_size for source in self.sources)
        return None

    def audit(self, claim_days: int, shown: Shown, progress: Progress) -> Tally:
        """Counts all of it; `progress` hears how many of its bytes are done."""
        tally, clock = Tally(claim_days), _Clock()
        with (
            tempfile.TemporaryDirectory(prefix="once-audit-") as folder,
            closing(sqlite3.connect(Path(folder) / "facts", isolation_level=None)) as database,
        ):
            table = _Table(database)
            records = self._records(progress)
            while chunk := list(islice(records, _CHUNK)):
                kept = []
                for found in chunk:
                    fact = self._date(read_event(found, self._routes), clock)
                    now_ms = clock.read(fact)
                    if isinstance(fact, Broken):
                        tally.add_broken(fact, now_ms)
                    else:
                        kept.append((clock.position, now_ms, _hide(fact, shown)))
                table.add(kept)
            for subject in table.read_subjects():
                tally.judge(subject)
        return tally

    def _date(self, one: Fact | Broken, clock: "_Clock") -> Fact | Broken:
        """Reads an event without any time again, as if the queue had got it now."""
        if isinstance(one, Fact) or one.reason != "NO_TIME":
            return one
        record = {**one.found.record, "attributes": {"SentTimestamp": str(clock.now_ms)}}
        found = one.found._replace(record=record)
        return read_event(found, self._routes)

    def _records(self, progress: Progress) -> Iterator[Found]:
        done = 0
        for source in self.sources:

            def add(count: int, before: int = done) -> None:
                progress(before + count)

            yield from read_records(source, add)
            done += source.path.stat().st_size if source.path.is_file() else 0


class _Clock:
    """Says when a record was received, as far as the capture tells.

    If only times of publication are noted, the clock never runs back, and one event alone cannot
    move it by weeks.
    """

    def __init__(self) -> None:
        self.now_ms = 0
        self.position = 0
        """Orders the events of all files: the latest time of this file so far."""
        self._file = -1
        self._claimed_ms = 0

    def read(self, one: Fact | Broken) -> int:
        file = one.file if isinstance(one, Fact) else one.found.place.file
        noted_ms = one.received_ms if isinstance(one, Fact) else received_ms(one.found.record)
        published_ms = one.published_ms if isinstance(one, Fact) else 0
        if noted_ms:
            received = noted_ms
            self.now_ms = max(self.now_ms, noted_ms)
        else:
            self._follow(published_ms)
            received = self.now_ms
        self.position = received if file != self._file else max(self.position, received)
        self._file = file
        return received

    def _follow(self, published_ms: int) -> None:
        if published_ms <= self.now_ms:
            return
        if self.now_ms and published_ms - self.now_ms > _LEAP_MS:
            is_confirmed = self._claimed_ms and abs(published_ms - self._claimed_ms) < _LEAP_MS
            self._claimed_ms = published_ms
            if not is_confirmed:
                return
        self.now_ms = published_ms


def _hide(fact: Fact, shown: Shown) -> Fact:
    """Returns a fact with source and subject as the report shows them."""
    kind, _, subject_id = fact.subject.partition(" ")
    source = shown.source(fact.source) if fact.source else ""
    return fact._replace(source=source, subject=f"{kind} {shown.id(subject_id)}")


class _Table:
    """The facts in a file that is gone afterwards."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        database.execute("PRAGMA journal_mode=OFF")  # nobody reads it after a crash
        database.execute("PRAGMA synchronous=OFF")
        # Names are those of a class of ours, never of a capture.
        self._columns = ", ".join(f'"{name}"' for name in Fact._fields)
        database.execute(f"CREATE TABLE facts (position, now_ms, {self._columns})")
        database.execute("BEGIN")
        self._marks = ", ".join("?" * (len(Fact._fields) + 2))

    def add(self, facts: Sequence[tuple[int, int, Fact]]) -> None:
        rows = ((position, now_ms, *fact) for position, now_ms, fact in facts)
        self._database.executemany(f"INSERT INTO facts VALUES ({self._marks})", rows)  # noqa: S608 - marks only

    def read_subjects(self) -> Iterator[Iterator[tuple[int, Fact]]]:
        """Yields the events of each subject in order of arrival, with when each was received."""
        rows = self._database.execute(
            f"SELECT now_ms, {self._columns} FROM facts "  # noqa: S608 - columns of ours
            "ORDER BY subject_key, position, file, line, item"
        )
        facts = ((now_ms, Fact(*values)) for now_ms, *values in rows)
        for _, subject in groupby(facts, key=lambda row: row[1].subject_key):
            yield subject
