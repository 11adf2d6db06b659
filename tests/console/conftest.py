"""A console on a stack in memory, and the system's Chromium to look at it."""

import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from email.message import Message
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.console.stacks import TOKEN, PagesStack, served, story_stack


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), _Stay)


def cookie(address: str, token: str = TOKEN) -> dict[str, str]:
    return {"Cookie": f"once_console_{address.rpartition(':')[2]}={token}"}


def ask(
    address: str, path: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
) -> tuple[int, str, Message]:
    """Returns status, text and headers; without following to another page."""
    given = dict(cookie(address) if headers is None else headers)
    request = urllib.request.Request(address + path, body, given)  # noqa: S310 - our own
    try:
        with _OPENER.open(request, timeout=60) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode(), error.headers


@pytest.fixture(scope="module")
def pages_stack() -> PagesStack:
    return story_stack()


@pytest.fixture(scope="module")
def console(pages_stack: PagesStack) -> Iterator[str]:
    with served(pages_stack, " --stack once") as address:
        yield address


@pytest.fixture
def open_page(browser: Browser, console: str) -> Iterator[Callable[..., Page]]:
    """Opens a page of the console; whatever the browser complains about fails the test."""
    complaints: list[str] = []
    contexts = []

    def opened(path: str = "/", **options: Any) -> Page:
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda one: complaints.append(one.text) if one.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{console}{path}{'&' if '?' in path else '?'}token={TOKEN}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
