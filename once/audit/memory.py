"""Rows in a temporary file, so that the longest capture takes no more of the
machine's memory than a short one. They are read and written a chunk of the capture at a time.
"""

import json
import sqlite3
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_CACHE_KIB = 65_536  # of SQLite's own, beside the chunk that is worked on

Row = list[Any]


class Table:
    """Rows under a number each. What a chunk asks for must be loaded before."""

    def __init__(self, database: sqlite3.Connection, name: str, columns: tuple[str, ...]) -> None:
        self._database = database
        self._rows: dict[int, Row] = {}
        named = ", ".join(columns)
        marks = ", ".join("?" * (len(columns) + 1))
        database.execute(f"CREATE TABLE {name} (k INTEGER PRIMARY KEY, {named})")
        # Names are those of this module's callers, never of a capture.
        self._select = f"SELECT k, {named} FROM {name} WHERE k IN (SELECT value FROM json_each(?))"  # noqa: S608
        self._insert = f"INSERT OR REPLACE INTO {name} VALUES ({marks})"  # noqa: S608

    def load(self, keys: Collection[int]) -> None:
        """Writes what the last chunk left and reads the rows of the next."""
        self.write()
        asked = json.dumps([*keys])
        self._rows = {key: row for key, *row in self._database.execute(self._select, (asked,))}

    def write(self) -> None:
        rows = [(key, *row) for key, row in self._rows.items()]
        self._database.executemany(self._insert, rows)

    def get(self, key: int) -> Row | None:
        return self._rows.get(key)

    def __setitem__(self, key: int, row: Row) -> None:
        self._rows[key] = row


@contextmanager
def database() -> Iterator[sqlite3.Connection]:
    """In a file that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="once-audit-") as folder:
        connection = sqlite3.connect(Path(folder) / "rows", isolation_level=None)
        try:
            # Nobody reads it after a crash, so it need not survive one.
            for pragma in ("journal_mode=OFF", "synchronous=OFF", f"cache_size=-{_CACHE_KIB}"):
                connection.execute(f"PRAGMA {pragma}")
            connection.execute("BEGIN")
            yield connection
        finally:
            connection.close()
