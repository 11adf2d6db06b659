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
