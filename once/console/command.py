"""`once console`: serves the page until Ctrl-C."""

import contextlib
import secrets
import socket
import webbrowser
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from once.errors import OnceError
from once.operate import running
from once.operate.command import Operation, command
from once.ports import LOOPBACK, listen
from once.project import say_how_to_install
from once.screen import say

PORT = 8095
Port = Annotated[
    int, typer.Option(min=0, max=65535, help="Port of the console; 0 chooses a free one.")
]
NoBrowser = Annotated[
    bool, typer.Option("--no-browser", help="Print the console's address; open no browser.")
]


@command("once console --stack genesys-once")
def console(
    at: Operation,
    port: Port = PORT,
    no_browser: NoBrowser = False,
    write: Annotated[
        bool,
        typer.Option(
            "--write", help="Allow changes on a deployed stack. The local one always allows them."
        ),
    ] = False,
) -> None:
    """Show a stack at work in the browser: what comes in, what became of it and why."""
    if not all(find_spec(module) for module in ("starlette", "uvicorn")):
        raise OnceError(f"The console needs more. Get it with:\n{say_how_to_install('console')}")
    from once.console.app import make

    at.stack.outputs  # noqa: B018 - a stack that is not there ends the command, not the page
    listening = listen(port, "once console")
    token = secrets.token_urlsafe(24)
    can_act = write or at.stack.is_local
    app = make(at.stack, listening.getsockname()[1], token, can_act)
    address = f"http://{LOOPBACK}:{listening.getsockname()[1]}/?token={token}"
    say(f"The console of {at.stack} is at {address}")
    say(f"{'It can act on the stack' if can_act else 'It is read-only'}. End it with Ctrl-C.")
    with (
        contextlib.suppress(KeyboardInterrupt),
        contextlib.nullcontext() if no_browser else opened(address),
    ):
        serve(app, listening)


@contextlib.contextmanager
def opened(address: str) -> Iterator[None]:
    """Opens the address in a browser, by a private file that leads there.

    A browser gets what it opens as an argument, which other users of the machine can read.
    """
    page = running.FOLDER / "console.html"
    with contextlib.suppress(OSError):  # in a folder that cannot be written, a person opens it
        running.private_folder()
        with running.open_private(page, "w") as file:
            file.write(f'<meta http-equiv="refresh" content="0; url={address}">')
        webbrowser.open(page.absolute().as_uri())
    try:
        yield
    finally:
        page.unlink(missing_ok=True)


def serve(app: Any, listening: socket.socket, ready: Any = None) -> None:
    """Serves until Ctrl-C."""
    import uvicorn

    # Requests name customers, so there is no access log.
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="error", access_log=False, lifespan="off")
    )
    if ready is not None:
        ready(server)
    server.run(sockets=[listening])
