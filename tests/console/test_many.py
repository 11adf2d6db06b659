"""Five thousand events of a deployed stack, and a stack that cannot be read: both can be read."""

import time

import pytest
from playwright.sync_api import Browser, expect

from once.console import feed
from once.console.rows import SHOWN
from once.operate.status import read_status
from once.outcomes import Outcome
from proof.console import served
from tests.console.readable import assert_readable
from tests.console.test_feed import World
from tests.operate.deployed import NOW_MS, Deployed, deployed, returned

pytestmark = pytest.mark.local  # as slow as what is local, and with the other browser tests

MANY = 5_000
SECOND_MS = 1_000


def test_many_events_are_readable_while_the_stack_is_and_after_it_went_down(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    status = read_status(deployed(None, returned("m1", "BREAKER_OPEN")), NOW_MS)
    monkeypatch.setattr(feed, "read_status", lambda *_: status)
    world, now_ms = World(), time.time_ns() // 1_000_000
    for number in range(MANY):
        outcome = list(Outcome)[number % len(Outcome)]
        pk = f"-/conversation/{number:036}"
        at_ms = now_ms - (MANY - number) * SECOND_MS // 2
        world.record(f"m{number}", outcome, "ACTED", at_ms, event=number, pk=pk)
    with served(Deployed(logs=world), write=False) as console:
        page = browser.new_page()
        page.goto(console.url("/"))
        expect(page.locator("#live")).to_have_text("live")
        expect(page.locator("#rows tr")).to_have_count(SHOWN)
        assert_readable(page, "many events")
        world.refused = True
        expect(page.locator("#strip").get_by_role("alert")).to_be_visible(timeout=20_000)
        expect(page.locator("body")).to_have_class("old")
        assert_readable(page, "the stack is down")
        page.close()
