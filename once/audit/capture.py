"""Goes through a capture: first record by record, then subject by subject in order of arrival.

Between the two passes the events are in a temporary file: a longer capture takes hardly more
memory.
"""

import pickle
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import groupby
from pathlib import Path

from once_enrichment.routes import Routes

from once.audit.entries import Broken, Entry, Shown, read_entry
from once.audit.tally import Tally
from once.lines import Source, read_records

_FAR_MS = 7 * 86_400_000
_STEP = 1_000  # records between two signs of progress


def audit(
    sources: Sequence[Source], routes: Routes, shown: Shown, progress: Callable[[int], None]
) -> Tally:
    """Counts all files by these routes; `progress` hears how many records are read."""
    tally, clock = Tally(shown.files([source.name for source in sources])), _Clock()
    started_ms = time.time_ns() // 1_000_000
    with (
        tempfile.TemporaryDirectory(prefix="once-audit-") as folder,
        closing(sqlite3.connect(Path(folder) / "entries", isolation_level=None)) as database,
    ):
        table = _Table(database)
        records = (record for source in sources for record in read_records(source, started_ms))
        for number, captured in enumerate(records):
            if number % _STEP == 0:
                progress(number)
            entry = read_entry(captured, routes, shown)
            if entry is None:
                continue
            now_ms = clock.read(entry)
            if isinstance(entry, Broken):
                tally.add_broken(entry, now_ms)
            else:
                table.add(clock.position, now_ms, entry)
        for subject in table.read_subjects():
            tally.judge(subject)
        tally.propose_facts()
        if tally.facts:
            for subject in table.read_subjects():
                tally.try_facts(subject)
    return tally


class _Clock:
    """Says when a record arrived, as far as the capture tells: else when the newest event so far
    was published. One event alone cannot move this clock by weeks."""

    def __init__(self) -> None:
        self._now_ms = 0
        self.position = 0
        """Orders the events of all files: the latest time of this file so far."""
        self._file = -1
        self._far_ms = 0

    def read(self, entry: Entry | Broken) -> int:
        if entry.arrived_ms:
            self._now_ms = max(self._now_ms, entry.arrived_ms)
        elif isinstance(entry, Entry) and entry.published_ms > self._now_ms:
            self._follow(entry.published_ms)
        arrived_ms = entry.arrived_ms or self._now_ms
        is_same = entry.place.file == self._file
        self.position = max(self.position, arrived_ms) if is_same else arrived_ms
        self._file = entry.place.file
        return arrived_ms

    def _follow(self, published_ms: int) -> None:
        is_far = self._now_ms and published_ms - self._now_ms > _FAR_MS
        if not is_far or abs(published_ms - self._far_ms) < _FAR_MS:
            self._now_ms = published_ms
        else:
            self._far_ms = published_ms  # a second event that is as far confirms it


class _Table:
    """The entries in a file that is gone afterwards."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        database.execute("PRAGMA journal_mode=OFF")  # nobody reads it after a crash
        database.execute("PRAGMA synchronous=OFF")
        database.execute(
            "CREATE TABLE entries (subject, position, file, line, item, now_ms, entry)"
        )
        database.execute("BEGIN")

    def add(self, position: int, now_ms: int, entry: Entry) -> None:
        row = (entry.subject_key, position, *entry.place, now_ms, pickle.dumps(entry))
        self._database.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def read_subjects(self) -> Iterator[Iterator[tuple[int, Entry]]]:
        """Yields the events of each subject in order of arrival, with when each arrived."""
        rows = self._database.execute(
            "SELECT now_ms, entry FROM entries ORDER BY subject, position, file, line, item"
        )
        entries = ((now_ms, pickle.loads(entry)) for now_ms, entry in rows)  # noqa: S301 - ours
        for _, subject in groupby(entries, key=lambda row: row[1].subject_key):
            yield subject
