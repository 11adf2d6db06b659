"""Fixtures that more than one folder of tests uses."""

import gc
from collections.abc import Iterator
from functools import cache
from typing import Any

import botocore.loaders
import pytest
from hypothesis import settings
from playwright.sync_api import Browser

from proof import shared_stack
from proof.shared_stack import SharedStack

# The speed of an example depends on the machine and on what else it does.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

# Imports make nothing that could be collected, and the collector would look through all of it.
gc.disable()

# Each client of each imitated AWS would read the same models from disk again.
_read_model = cache(botocore.loaders.JSONFileLoader().load_file)
botocore.loaders.JSONFileLoader.load_file = lambda _, path: _read_model(path)


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shared_stack.begin_run()


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        shared_stack.end_run()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that use the stack, so that `make test-fast` deploys none, and puts them
    first: they mostly wait, and the others fill the time."""
    for item in items:
        if "local" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.local)
    # The collected tests stay to the end, so the garbage collector need not look through them.
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 50)
    items.sort(key=lambda item: item.get_closest_marker("local") is None)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any) -> Iterator[None]:
    """Repeats the first failure at the end: the others may follow from it."""
    yield
    failed = terminalreporter.getreports("error") + terminalreporter.getreports("failed")
    if failed:
        first = min(failed, key=lambda report: getattr(report, "start", 0.0))
        cause = getattr(first.longrepr, "reprcrash", first.longrepr)
        terminalreporter.write_line(f"First to fail: {first.nodeid}\n{cause}", red=True)


@pytest.fixture
def local() -> SharedStack:
    """The project's own template, deployed once for the whole run."""
    return shared_stack.find_or_start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Blames the stack if a test fails because the stack has died under it."""
    try:
        yield
    except Exception:
        if "local" in getattr(item, "fixturenames", ()):
            shared_stack.find_or_start()
        raise


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from proof.console import browsing, chromium

    program = chromium()
    if program is None:
        pytest.skip("There is no Chromium. Install one with: make browser")
    with browsing(program) as started:
        yield started
