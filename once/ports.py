"""Listens on a port of this machine, or says how to take a free one."""

import socket

from once.errors import OnceError

LOOPBACK = "127.0.0.1"


def listen(port: int, command: str) -> socket.socket:
    """Listens on a port; if it is taken, names `command` with another one."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise OnceError(
            f"Cannot listen on port {port}: {error.strerror}.\n"
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
