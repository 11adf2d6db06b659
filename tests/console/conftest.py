"""The console on the stack that the whole session shares, and a Chromium to look at it."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from proof.console import TOKEN, Served, served, stack_of
from proof.deployed import DeployedStack
from tests.operate.conftest import up


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Stay)


def ask(
    console: Served, path: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
) -> tuple[int, str, Mapping[str, str]]:
    """Status, text and headers; without following to another page."""
    usual = {"Authorization": f"Bearer {TOKEN}"}
    request = urllib.request.Request(  # noqa: S310 - our own
        console.address + path, body, usual if headers is None else dict(headers)
    )
    try:
        with _OPENER.open(request, timeout=60) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), error.headers


def said(console: Served, path: str) -> Any:
    """The JSON behind a page."""
    status, text, _ = ask(console, path)
    assert status == 200, text
    return json.loads(text)


@pytest.fixture(scope="session")
def console(local: DeployedStack) -> Iterator[Served]:
    with served(stack_of(local)) as one:
        yield one


@pytest.fixture
def stack_in_folder(local: DeployedStack, tmp_path: Path) -> Iterator[None]:
    """A folder where commands find the stack."""
    with up(local, tmp_path):
        yield


@pytest.fixture
def open_page(browser: Browser, console: Served) -> Iterator[Callable[..., Page]]:
    """Opens a page of the console; whatever the browser complains about fails the test."""
    complaints: list[str] = []
    contexts = []

    def opened(path: str = "/", **options: Any) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda one: complaints.append(one.text) if bad(one.type) else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(console.url(path))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def bad(kind: str) -> bool:
    return kind in ("error", "warning")
