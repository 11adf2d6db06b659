"""Fixtures that more than one folder of tests uses."""

import gc
from collections.abc import Iterator
from functools import cache
from typing import Any

import botocore.loaders
import pytest
from hypothesis import settings
from playwright.sync_api import Browser
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from proof.console import browsing, chromium
from proof.deployed import DeployedStack, deployed

# The speed of an example depends on the machine and on what else it does.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")

# Each client of each imitated AWS would read the same models from disk again.
_read_model = cache(botocore.loaders.JSONFileLoader().load_file)
botocore.loaders.JSONFileLoader.load_file = lambda _, path: _read_model(path)

# Each of their tests deploys a stack of its own, and some take a minute.
STACK_PER_TEST = ("tests/stories/test_stories.py", "tests/chaos/test_chaos.py")


class FileScheduling(LoadFileScheduling):
    """Gives a process whole files, and of the longest ones single tests."""

    def _split_scope(self, nodeid: str) -> str:
        return nodeid if nodeid.startswith(STACK_PER_TEST) else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)  # proof/mutation runs without xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FileScheduling | None:
    return FileScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


def rank(item: pytest.Item) -> int:
    if item.nodeid.startswith(STACK_PER_TEST):
        return 0
    return 1 if item.get_closest_marker("local") else 2


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that use the stack, so that `make test-fast` deploys none, and puts them
    first: they mostly wait, and the others fill the time."""
    for item in items:
        if "local" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.local)
            item.add_marker(pytest.mark.shared)
    # The collected tests stay to the end, so the garbage collector need not look through them.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    items.sort(key=rank)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: Any) -> Iterator[None]:
    """Repeats the first failure at the end: the others may follow from it."""
    yield
    failed = terminalreporter.getreports("error") + terminalreporter.getreports("failed")
    if failed:
        first = min(failed, key=lambda report: getattr(report, "start", 0.0))
        cause = getattr(first.longrepr, "reprcrash", first.longrepr)
        terminalreporter.write_line(f"First to fail: {first.nodeid}\n{cause}", red=True)


@pytest.fixture(scope="session")
def local() -> Iterator[DeployedStack]:
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
