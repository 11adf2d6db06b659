"""Where the embedded stack is that stays up: a note in `.once/`, locked as long as it lives."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pydantic import BaseModel

from once.errors import OnceError

FOLDER = Path(".once")
_NOTE = "stack.json"


class Running(BaseModel):
    """Where an embedded stack is. Its process holds the lock as long as it lives."""

    pid: int
    endpoint: str
    stack: str
    genesys: str


@contextmanager
def kept(folder: Path = FOLDER) -> Iterator[Callable[[Running], None]]:
    """Holds the lock while the block lasts, and yields what writes the note.

    A note whose lock is free is of nobody.
    """
    folder.mkdir(exist_ok=True)
    path = folder / _NOTE
    with path.open("a+") as note:
        try:
            fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OnceError("Another embedded stack is starting in this folder.") from None
        note.truncate(0)

        def write(running: Running) -> None:
            note.write(running.model_dump_json())
            note.flush()

        try:
            yield write
        finally:
            path.unlink(missing_ok=True)


def find(folder: Path = FOLDER) -> Running | None:
    """The embedded stack that is up in this folder, if one is."""
    try:
        with (folder / _NOTE).open() as note:
            if not _held(note):
                return None
            return Running.model_validate_json(note.read())
    except FileNotFoundError:
        return None


def _held(note: IO[str]) -> bool:
    try:
        fcntl.flock(note, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return os.fstat(note.fileno()).st_size > 0
    return False
