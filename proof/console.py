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
from once.console.command import serve
from once.operate.running import Running
from once.operate.stack import Stack
from once.ports import listen
from proof.shared_stack import SharedStack as DeployedStack

TOKEN = "the-token-of-this-start"
# The words of a page that are shown in two lines.
CUT_WORDS = """() => {
  const cut = [], range = document.createRange();
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, of = node.parentElement;
    if (!of.checkVisibility({contentVisibilityAuto: true}) || of.closest(
        '.hidden, .rows thead, .received thead, script, option, textarea, title')) continue;
    for (const word of node.data.matchAll(/(?<![\\w.\\/-])[A-Za-z]{2,20}(?![\\w.\\/-])/g)) {
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
      if (lines.size > 1) cut.push(word[0]);
    }
  }
  return cut;
}"""
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_SECONDS = 20


@dataclass
class Served:
    """The address of a console, and its token."""

    address: str
    token: str = TOKEN

    def url(self, path: str) -> str:
        """Returns an address as `once console` prints it, with the token."""
        return f"{self.address}{path}{'&' if '?' in path else '?'}token={self.token}"


@contextmanager
def served(stack: Stack, write: bool = True) -> Iterator[Served]:
    listening = listen(0, "once console")
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
        started[0].should_exit = True
        thread.join(_SECONDS)
        listening.close()


def stack_of(local: DeployedStack) -> Stack:
    """Returns the local stack as the commands see it."""
    note = Running.here(local.stack.aws, local.destination, "once")
    return Stack(local.stack.aws._session, note.stack, note)


def chromium() -> str | None:
    """Returns the path of Chromium, if it is installed."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


@contextmanager
def browsing(program: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Chromium's own sandbox does not work for root, as whom containers of CI run.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()
