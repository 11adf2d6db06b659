"""Tells commands where the local stack is: a note in `.once/`, locked while the stack lives."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from pydantic import BaseModel, Field

from once.errors import OnceError

FOLDER = Path(".once")
LOG = FOLDER / "up.log"
_NOTE = "stack.json"


class Running(BaseModel):
    """The address of a local stack, and the keys that its servers need.

    Its process keeps the note locked as long as it lives.
    """

    pid: int
    endpoint: str
    key: str = Field(repr=False)
    region: str
    account: str
    stack: str
    genesys: str
    genesys_key: str = Field(repr=False)
    console: str | None = Field(default=None, repr=False)
    """The address that `once dev` serves, with its token."""
    server: str | None = None
    """The user's own server that gets the requests, in place of the stack's destination."""


def private_folder(folder: Path = FOLDER) -> Path:
    """Creates the folder for its owner alone. In a shared place it could be another user's."""
    with suppress(FileExistsError):
        folder.mkdir(0o700)
    if not _is_own(folder):
        raise OnceError(
            f"{folder.absolute()} is a link, belongs to another user, or others may write to it. "
            "Remove it, or work in another folder."
        )
    folder.chmod(0o700)
    return folder


def _is_own(folder: Path) -> bool:
    place = folder.lstat()
    is_ours = stat.S_ISDIR(place.st_mode) and place.st_uid == os.getuid()
    return is_ours and not place.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def open_private(path: Path, mode: str) -> IO[Any]:
    """Opens a file in a private folder, which its owner alone may read."""
    return open(path, mode, opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW, 0o600))


@contextmanager
def kept(folder: Path = FOLDER) -> Iterator[Callable[[Running], None]]:
    """Holds the lock while the block lasts, and yields what writes the note.

    A note whose lock is free has no owner.
    """
    import fcntl  # not on Windows, where no local stack runs

    path = private_folder(folder) / _NOTE
    with open_private(path, "a+") as note:
        try:
            fcntl.flock(note, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OnceError("Another local stack is starting in this folder.") from None
        note.truncate(0)

        def write(running: Running) -> None:
            note.write(running.model_dump_json())
            note.flush()

        try:
            yield write
        finally:
            path.unlink(missing_ok=True)


def find(folder: Path = FOLDER) -> Running | None:
    """Returns the local stack that is up in this folder; another user's note is not read."""
    try:
        if not _is_own(folder):
            return None
        with (folder / _NOTE).open() as note:
            text = note.read()
            return Running.model_validate_json(text) if text and _is_held(note) else None
    except (FileNotFoundError, PermissionError):
        return None


def _is_held(note: IO[str]) -> bool:
    """Returns true if the process lives that keeps the note."""
    import fcntl

    try:
        fcntl.flock(note, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False
