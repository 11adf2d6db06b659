"""Listens on a port of this machine, or names the process that has taken it."""

import os
import shutil
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

from once.errors import OnceError

LOOPBACK = "127.0.0.1"
_SOCKETS = Path("/proc/net/tcp")  # of Linux
_LISTENS = "0A"  # the state of a socket there
_SHOWN_CHARS = 80


def listen(port: int, command: str) -> socket.socket:
    """Listens on a port; if it is taken, names its process and `command` with another port."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen()
    except OSError as error:
        listening.close()
        owner = _find_owner(port) if _SOCKETS.exists() else _ask_lsof(port)
        by = f", by process {owner}" if owner else ""
        raise OnceError(
            f"Cannot listen on port {port}: {error.strerror}{by}.\n"
            f"Take a free port with: {command} --port 0"
        ) from None
    return listening


def _find_owner(port: int) -> str | None:
    """Returns None for a process of another user."""
    rows = [line.split() for line in _SOCKETS.read_text().splitlines()[1:]]
    taken = [row for row in rows if row[3] == _LISTENS and row[1].endswith(f":{port:04X}")]
    sockets = {f"socket:[{row[9]}]" for row in taken}
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        with suppress(OSError):  # the process has ended, or is another user's
            if os.readlink(link) in sockets:
                process = link.parents[1]
                words = (process / "cmdline").read_text().replace("\0", " ").split()
                return f"{process.name} ({' '.join(words)[:_SHOWN_CHARS]})"
    return None


def _ask_lsof(port: int) -> str | None:
    lsof = shutil.which("lsof")
    if lsof is None:
        return None
    asked = [lsof, "-t", f"-iTCP:{port}", "-sTCP:LISTEN"]
    return subprocess.run(asked, capture_output=True, text=True).stdout.strip() or None  # noqa: S603 - the system's own program
