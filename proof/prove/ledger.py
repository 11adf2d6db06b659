"""Records what a run creates, before it is created: so `make prove ARGS=--clean` finds all of it,
whenever and however the run ended."""

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from once.errors import OnceError
from once.operate.running import FOLDER

_SUFFIX = ".ledger"


class Thing(NamedTuple):
    kind: str
    name: str


class Ledger:
    """One run's: the first line says where it is, each further one what came or went."""

    def __init__(self, path: Path, where: dict[str, Any]) -> None:
        self._path = path
        self.run = path.stem
        self.where = where
        self._held: int | None = None

    @classmethod
    def open(cls, run: str, where: dict[str, Any], folder: Path | None = None) -> "Ledger":
        ledger = cls(_folder(folder) / f"{run}{_SUFFIX}", where)
        ledger._path.parent.mkdir(parents=True, exist_ok=True)
        ledger._held = os.open(ledger._path, os.O_RDWR | os.O_CREAT)
        fcntl.flock(ledger._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        ledger._write({"where": where})
        return ledger

    def release(self) -> None:
        """Ends the run: another command may now clean what it left."""
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def creating(self, kind: str, name: str) -> None:
        if Thing(kind, name) not in self.left():
            self._write({"creating": [kind, name]})

    def gone(self, thing: Thing) -> None:
        self._write({"gone": list(thing)})

    def left(self) -> list[Thing]:
        """Returns the things that may still exist, the youngest first."""
        left: dict[Thing, None] = {}
        for line in self._lines():
            if "creating" in line:
                left[Thing(*line["creating"])] = None
            elif "gone" in line:
                left.pop(Thing(*line["gone"]), None)
        return list(reversed(left))

    def close(self) -> None:
        """Nothing is left, so there is nothing to remember."""
        self._path.unlink(missing_ok=True)

    def _lines(self) -> Iterator[dict[str, Any]]:
        for line in self._path.read_text("utf-8").splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue  # it was cut off, so what it names was not yet created

    def _write(self, line: dict[str, Any]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            # Whatever was cut off before it ends here.
            file.write("\n" + json.dumps(line))
            file.flush()
            os.fsync(file.fileno())


def kept(folder: Path | None = None) -> list[Ledger]:
    """The ledgers of runs that left something, the oldest first."""
    paths = _folder(folder).glob(f"*{_SUFFIX}")
    ledgers = []
    for path in sorted(paths, key=lambda path: path.stat().st_mtime):
        if _is_running(path):
            continue
        ledger = Ledger(path, {})
        first = next(ledger._lines(), None)
        if first is None:
            path.unlink()  # the run ended before it could create anything
        elif "where" not in first:
            raise OnceError(f"{path} is no ledger of `make prove`. Move it away.")
        else:
            ledger.where = first["where"]
            ledgers.append(ledger)
    return ledgers


def _is_running(path: Path) -> bool:
    """Its process holds the lock as long as it lives."""
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _folder(folder: Path | None) -> Path:
    return (folder or FOLDER) / "prove"
