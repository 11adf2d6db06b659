"""`once down`: ends the local stack that is up in this folder."""

import os
import signal
import time

from once.cli_options import Output, standalone
from once.errors import OnceError
from once.screen import say
from once.stack import running

_END_SECONDS = 60


@standalone("once down")
def command(_: Output) -> None:
    """End the local stack that is up in this folder, and all that is in it."""
    stack = running.find()
    if stack is None:
        say("No local stack is up in this folder.")
        return
    os.kill(stack.pid, signal.SIGTERM)
    until = time.monotonic() + _END_SECONDS
    while running.find() is not None:
        if time.monotonic() > until:
            raise OnceError(f"The process {stack.pid} does not end. See {running.LOG}.")
        time.sleep(0.05)
    say(f"The local stack at {stack.endpoint} is down.")
