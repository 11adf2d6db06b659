"""Fixtures that more than one folder of tests uses."""

import gc
from collections.abc import Iterator

import pytest
from hypothesis import settings
from playwright.sync_api import Browser

from proof.console import browsing, chromium
from proof.embedded import Embedded, deployed

# How long an example takes is said by the machine and its neighbours, and by the budget tests.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whoever uses the stack is marked, so that `make test-fast` never deploys one, and comes
    first: these tests mostly wait, some for minutes, and the others fill the time."""
    for item in items:
        if "embedded" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.embedded)
    # What the tests are made of stays to the end, and looking through it for garbage each time
    # takes long.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    items.sort(key=lambda item: item.get_closest_marker("embedded") is None)


@pytest.fixture(scope="session")
def embedded() -> Iterator[Embedded]:
    """The project's own template, deployed once for the whole session."""
    with deployed() as stack:
        yield stack


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    program = chromium()
    if program is None:
        pytest.skip("There is no Chromium. Install one with: make browser")
    with browsing(program) as started:
        yield started
