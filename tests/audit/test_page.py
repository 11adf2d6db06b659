"""The report as a page, in a real browser: nothing of it is cut off on a phone or on paper."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from bench.events import START_MS, Centre
from proof.console import CUT_WORDS
from tests.audit.test_audit import once
from tests.audit.test_capture import lines

pytestmark = pytest.mark.local  # as slow as what is local, and with the other browser tests

LONG = "Conversation" * 8


@pytest.fixture(scope="module")
def page_of_long_names(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Audits copies of each origin, hours apart, with very long names of files and families."""
    centre = Centre(21)
    folder = tmp_path_factory.mktemp("audit")
    (folder / "capture" / "stream").mkdir(parents=True)
    for name in ("a", "b"):
        events = []
        for at in range(START_MS, START_MS + 400_000, 10_000):
            event = centre.conversation("customer.end", at)
            again = centre.published_again(event, 30, LONG.lower())
            events += [event, event, centre.published_again(event, 40), again]
            state = centre.presence("user", "BUSY", at - 90_000 * (at % 3))
            custom = {"source": "my.app", "time": event["time"], "detail-type": LONG}
            custom["detail"] = {"conversationId": f"{at}", "status": "ended"}
            events += [state, custom, custom, {"broken": LONG}]
        (folder / "capture" / "stream" / f"{LONG}-{name}.jsonl").write_text(lines(events))
    (folder / "capture" / f"{LONG}.png").write_bytes(b"\x89PNG\0\0\0")
    result = once(folder / "capture", "--html", folder / "audit.html")
    assert result.exit_code == 0, result.output
    return folder / "audit.html"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 688, 1280])
def test_nothing_of_the_report_is_cut_off_on_a_phone_on_paper_or_on_a_desk(
    browser: Browser, page_of_long_names: Path, width: int, scheme: str
) -> None:
    with browser.new_context(
        viewport={"width": width, "height": 844},
        color_scheme="dark" if scheme == "dark" else "light",
    ) as context:
        page = context.new_page()
        page.goto(page_of_long_names.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(CUT_WORDS) == []
        assert Axe().run(page).violations_count == 0
