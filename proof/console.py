"""Starts the system's Chromium, to look at the console's pages and the audit's."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")


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
