"""The console on the stack that the whole session shares, and a Chromium to look at it."""

import json
import shutil
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from once.console.app import make
from once.console.command import listen, serve
from once.operate.running import Running
from once.operate.stack import Stack
from proof.embedded import Embedded
from tests.operate.conftest import up

TOKEN = "the-token-of-this-start"
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@dataclass
class Served:
    """A console that answers."""

    address: str
    headers: dict[str, str] = field(default_factory=lambda: {"Authorization": f"Bearer {TOKEN}"})

    def ask(
        self, path: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> tuple[int, str, Mapping[str, str]]:
        """Status, text and headers; without following to another page."""
        request = urllib.request.Request(  # noqa: S310 - our own
            self.address + path, body, self.headers if headers is None else dict(headers)
        )
        try:
            with _OPENER.open(request, timeout=60) as answer:
                return answer.status, answer.read().decode(), answer.headers
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode(), error.headers

    def json(self, path: str) -> Any:
        status, text, _ = self.ask(path)
        assert status == 200, text
        return json.loads(text)


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Stay)


@contextmanager
def served(stack: Stack, write: bool = True) -> Iterator[Served]:
    listening = listen(0)
    port = listening.getsockname()[1]
    made = make(stack, port, TOKEN, write)
    started: list[Any] = []
    thread = threading.Thread(target=serve, args=(made, listening, started.append))
    thread.start()
    try:
        until = time.monotonic() + 20
        while not (started and started[0].started):
            assert time.monotonic() < until
            time.sleep(0.02)
        yield Served(f"http://127.0.0.1:{port}")
    finally:
        made.feed.close()
        started[0].should_exit = True
        thread.join(20)
        listening.close()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("console")


@pytest.fixture(scope="session")
def console(embedded: Embedded) -> Iterator[Served]:
    note = Running(
        pid=1,
        endpoint=embedded.stack.aws.endpoint,
        stack="once",
        genesys=embedded.destination.url,
    )
    with served(Stack(embedded.stack.aws._session, note.stack, note)) as one:
        yield one


@pytest.fixture
def typed(embedded: Embedded, tmp_path: Path) -> Iterator[None]:
    """A folder where commands find the stack."""
    with up(embedded, tmp_path):
        yield


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip("There is no Chromium. Install one with: make browser")
    with sync_playwright() as playwright:
        # Chromium's sandbox does not work for root, as containers of CI have it.
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Browser, console: Served) -> Iterator[Callable[..., Page]]:
    """Opens a page of the console; whatever the browser complains about fails the test."""
    complaints: list[str] = []
    contexts = []

    def opened(path: str = "/", **options: Any) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text) if bad(said.type) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{console.address}{path}{'&' if '?' in path else '?'}token={TOKEN}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def bad(kind: str) -> bool:
    return kind in ("error", "warning")
