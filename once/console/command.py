"""`once console`: serves the page until somebody ends it."""

import contextlib
import secrets
import socket
import webbrowser
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from once.errors import OnceError
from once.operate.command import Operation, command
from once.screen import say

PORT = 8095
_LOOPBACK = "127.0.0.1"
_MISSING = "The console needs the extra `console`: pip install 'genesys-once[console]'"


def register(app: typer.Typer) -> None:
    command(app, "console", "once console --stack genesys-once")(console)


def console(
    at: Operation,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Port on 127.0.0.1; 0 takes a free one.")
    ] = PORT,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open nothing.")
    ] = False,
    write: Annotated[
        bool,
        typer.Option("--write", help="Allow acts on a deployed stack. The embedded needs none."),
    ] = False,
) -> None:
    """Show a stack at work in the browser: what comes in, what became of it and why."""
    if not all(find_spec(module) for module in ("starlette", "uvicorn")):
        raise OnceError(_MISSING)
    from once.console.app import make

    at.stack.outputs  # noqa: B018 - a stack that is not there ends the command, not the page
    listening = listen(port)
    token = secrets.token_urlsafe(24)
    made = make(at.stack, listening.getsockname()[1], token, write or at.stack.embedded)
    address = f"http://{_LOOPBACK}:{listening.getsockname()[1]}/?token={token}"
    say(f"The console of {at.stack} is at {address}")
    say(f"{'It can act on the stack' if made.write else 'It only looks'}. End it with Ctrl-C.")
    if not no_browser:
        webbrowser.open(address)
    with contextlib.suppress(KeyboardInterrupt):
        serve(made, listening)


def listen(port: int) -> socket.socket:
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((_LOOPBACK, port))
    except OSError as error:
        listening.close()
        raise OnceError(
            f"Cannot listen on port {port}: {error.strerror}. Another console? Take another port: "
            "once console --port 0"
        ) from None
    return listening


def serve(made: Any, listening: socket.socket, ready: Any = None) -> None:
    """Until Ctrl-C. The streams that pages hold open end first, so nothing waits for them."""
    import uvicorn

    class Server(uvicorn.Server):
        def handle_exit(self, *given: Any) -> None:
            made.feed.close()
            super().handle_exit(*given)

    # What a page asks for is nobody's business, so there is no access log.
    server = Server(uvicorn.Config(made.app, log_level="error", access_log=False, lifespan="off"))
    if ready is not None:
        ready(server)
    server.run(sockets=[listening])
