"""The report as a page, in a real browser: nothing of it is cut off on a phone or on a desk."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from bench.events import START_MS, Centre
from tests.audit.test_audit import lines, published_at
from tests.commands.conftest import once
from tests.enrichment.examples import agent, snapshot

LONG = "Conversation" * 8


@pytest.fixture(scope="module")
def page_of_long_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Audits copies of each origin, states, and very long names of files and families."""
    centre = Centre(21)
    folder = tmp_path_factory.mktemp("audit")
    (folder / "capture" / "stream").mkdir(parents=True)
    for name in ("a", "b"):
        events = []
        for ms in range(START_MS, START_MS + 400_000, 10_000):
            event = centre.conversation("customer.end", ms)
            again = centre.published_again(event, 30, LONG.lower())
            events += [event, event, centre.published_again(event, 40), again]
            state = centre.presence("user", "BUSY", ms - 90_000 * (ms % 3))
            custom = {"source": "my.app", "time": event["time"], "detail-type": LONG}
            custom["detail"] = {"conversationId": f"{ms}", "status": "ended"}
            events += [state, custom, custom, {"broken": LONG}]
            call = snapshot(agent() | {"attributes": {"step": ms}})
            events.append(published_at(call, ms - START_MS))
        (folder / "capture" / "stream" / f"{LONG}-{name}.jsonl").write_text(lines(events))
    (folder / "capture" / f"{LONG}.png").write_bytes(b"\x89PNG\0\0\0")
    answer = once("audit", str(folder / "capture"), "--html", str(folder / "audit.html"))
    assert answer.code == 0, answer.err
    return folder / "audit.html"


@pytest.mark.parametrize("width", [390, 1280])
def test_report_is_readable_on_a_phone_and_on_a_desk(
    browser: Browser, page_of_long_names: Path, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.goto(page_of_long_names.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.emulate_media(color_scheme="light")
    assert Axe().run(page).violations_count == 0
    page.emulate_media(color_scheme="dark")
    assert Axe().run(page).violations_count == 0
    page.close()
