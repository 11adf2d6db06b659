"""`once console`: serves the pages until Ctrl-C."""

import contextlib
import secrets
import socket
import webbrowser
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from once.cli_options import Operation, on_stack
from once.errors import OnceError
from once.ports import LOOPBACK, listen
from once.project import say_how_to_install
from once.screen import say
from once.stack import running

if TYPE_CHECKING:
    from starlette.applications import Starlette

PORT = click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8095,
    show_default=True,
    help="Port of the console; 0 chooses a free one.",
)
NO_BROWSER = click.option(
    "--no-browser", is_flag=True, help="Print the console's address; open no browser."
)


@on_stack("once console --stack genesys-once")
@PORT
@NO_BROWSER
def command(operation: Operation, port: int, no_browser: bool) -> None:
    """Show a stack at work in the browser: its events, and what was decided and why.

    The pages change nothing; they show the commands that do.
    """
    if not all(find_spec(module) for module in ("starlette", "uvicorn", "jinja2")):
        raise OnceError(f"The console needs more. Get it with:\n{say_how_to_install('console')}")
    from once.console.app import make

    operation.stack.outputs  # noqa: B018 - a stack that is not there ends the command, not the page
    listening = listen(port, "once console")
    port = listening.getsockname()[1]
    token = secrets.token_urlsafe(24)
    address = f"http://{LOOPBACK}:{port}/?token={token}"
    say(f"The console of {operation.stack} is at {address}")
    say("It is read-only. End it with Ctrl-C.")
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as stack:
        if not no_browser:
            stack.enter_context(opened(address))
        serve(make(operation.stack, port, token, operation.options), listening)


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


def serve(
    app: "Starlette", listening: socket.socket, ready: Callable[[Any], None] | None = None
) -> None:
    """Serves until Ctrl-C; `ready` gets the server, which ends if its `should_exit` is set."""
    import uvicorn

    # Requests name customers, so there is no access log.
    config = uvicorn.Config(app, log_level="error", access_log=False, lifespan="off")
    server = uvicorn.Server(config)
    if ready is not None:
        ready(server)
    server.run(sockets=[listening])
