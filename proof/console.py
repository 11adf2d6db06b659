"""A console that answers in this process, and the system's Chromium to look at it."""

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from once.console.app import make
from once.console.command import listen, serve
from once.operate.running import Running
from once.operate.stack import Stack
from proof.embedded import Embedded

TOKEN = "the-token-of-this-start"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_SECONDS = 20


@dataclass
class Served:
    """Where it answers, and under which token."""

    address: str
    token: str = TOKEN

    def url(self, path: str) -> str:
        """As `once console` prints it, with the token."""
        return f"{self.address}{path}{'&' if '?' in path else '?'}token={self.token}"


@contextmanager
def served(stack: Stack, write: bool = True) -> Iterator[Served]:
    listening = listen(0)
    port = listening.getsockname()[1]
    made = make(stack, port, TOKEN, write)
    started: list[Any] = []
    thread = threading.Thread(target=serve, args=(made, listening, started.append))
    thread.start()
    try:
        until = time.monotonic() + _SECONDS
        while not (started and started[0].started):
            if time.monotonic() > until:
                raise TimeoutError("the console did not start")
            time.sleep(0.02)
        yield Served(f"http://127.0.0.1:{port}")
    finally:
        made.feed.close()
        started[0].should_exit = True
        thread.join(_SECONDS)
        listening.close()


def stack_of(embedded: Embedded) -> Stack:
    """As the commands see a stack that is up."""
    note = Running(
        pid=1,
        endpoint=embedded.stack.aws.endpoint,
        stack="once",
        genesys=embedded.destination.url,
    )
    return Stack(embedded.stack.aws._session, note.stack, note)


def chromium() -> str | None:
    """Where it is, if there is one."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


@contextmanager
def browsing(program: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Chromium's own sandbox does not work for root, as whom containers of CI run.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()
