"""Listens on a port of this machine, and decides which requests the servers there answer.

Each web page that a developer looks at can send requests to the ports of their machine, and so can
each other user of it. A request to the local stack therefore needs the random key of this start,
and a request of a web page is refused even with the key.
"""

import secrets
import socket
from collections.abc import Iterable

from once.errors import OnceError

LOOPBACK = "127.0.0.1"
# A page cannot leave these out of a request to another origin: fetch.spec.whatwg.org, "Forbidden
# request-header"; w3.org/TR/fetch-metadata. Programs send none of them.
_SENT_BY_PAGES = ("origin", "referer", "sec-fetch-")


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


def new_key() -> str:
    return secrets.token_urlsafe(32)


def is_key(given: str, key: str) -> bool:
    """Compares in constant time."""
    return secrets.compare_digest(given.encode(), key.encode())


def find_fault(headers: Iterable[tuple[str, str]], host: str) -> str | None:
    """Returns why a request is refused that a page sent, or that came under a foreign name.

    A page reaches this machine under a name of its own by DNS rebinding; to the browser that is
    the page's own origin, so the request may lack all that tells a page from a program.
    """
    lower = [(name.lower(), value) for name, value in headers]
    if any(name.startswith(_SENT_BY_PAGES) for name, _ in lower):
        return "A web page may not use the local stack."
    if [value for name, value in lower if name == "host"] != [host]:
        return f"The local stack is reached as {host} only."
    return None
