"""Walks through the pages in a real browser, whose every complaint fails a test."""

from collections.abc import Callable
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.console.stacks import CALL, PagesStack, id_of

Open = Callable[..., Page]
# Texts that are cut off, or lie on each other.
LAID_OUT = """() => {
  const found = [], wrong = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, of = node.parentElement;
    if (!node.data.trim() || !of.checkVisibility({contentVisibilityAuto: true}) || of.closest(
        '.hidden, .skip, script, option, .picture, thead, title')) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const box of range.getClientRects()) {
      if (box.width < 1) continue;
      for (let around = of; around; around = around.parentElement) {
        const edge = around.getBoundingClientRect();
        if (getComputedStyle(around).overflowX !== 'visible' && around !== document.body
            && box.right > edge.right + 1) wrong.push(`cut off: ${node.data}`);
      }
      found.push({box, text: node.data.trim()});
    }
  }
  for (const [number, one] of found.entries())
    for (const other of found.slice(0, number))
      if (Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left) > 1
          && Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top) > 4)
        wrong.push(`on each other: ${one.text} | ${other.text}`);
  return wrong;
}"""
PATHS = ("/", f"/event?of={id_of(2)}", f"/event?of={id_of(6)}", f"/search?id={CALL}")


def row(number: int) -> str:
    return f"[id='row-{id_of(number)}']"


def test_pages_are_readable_at_each_width_and_in_light_and_dark(open_page: Open) -> None:
    rules: dict[Literal["light", "dark"], dict[str, Any]] = {
        "light": {"resultTypes": ["violations"]},
        "dark": {"resultTypes": ["violations"], "runOnly": ["color-contrast"]},
    }
    for path in PATHS:
        page = open_page(path)
        for width in (1280, 900, 390):
            page.set_viewport_size({"width": width, "height": 844})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
            assert page.evaluate(LAID_OUT) == [], (path, width)
        for scheme, options in rules.items():
            page.emulate_media(color_scheme=scheme)
            found = Axe().run(page, None, options)
            assert found.violations_count == 0, f"{path} {scheme}: {found.generate_report()}"


def test_new_events_appear_unless_the_page_is_frozen_and_a_focused_row_stays(
    open_page: Open, pages_stack: PagesStack
) -> None:
    page = open_page()
    link = page.locator(f"{row(3)} td.what a")
    link.focus()
    pages_stack.add(20, "PROCESSED", 0, pk="-/user/u-20")
    expect(page.locator(row(20))).to_be_visible()
    expect(link).to_be_focused()
    page.keyboard.press("f")
    expect(page.locator("#live")).to_have_text("frozen")
    pages_stack.add(21, "PROCESSED", 0, pk="-/user/u-21")
    page.wait_for_timeout(1_100)  # the page would ask in this time
    assert page.locator(row(21)).count() == 0
    page.keyboard.press("f")
    expect(page.locator(row(21))).to_be_visible()


def test_filter_shows_its_rows_and_stays_in_the_address(open_page: Open) -> None:
    page = open_page()
    page.select_option("select[name=outcome]", "STALE")
    expect(page.locator(".rows tbody tr")).to_have_count(1)
    assert page.url.endswith("?outcome=STALE")
    page.reload()
    expect(page.locator(".rows tbody tr")).to_have_count(1)


def test_keyboard_walks_rows_and_opens_an_event(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    first = page.locator(".rows tbody tr").first
    expect(first.locator("td.what a")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/event?of=*")


def test_search_is_reached_by_its_key_and_finds_an_id(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("/")
    page.keyboard.type(CALL)
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?id=*")
    assert page.locator(".rows tbody tr").count() >= 6


def test_row_opens_wherever_it_is_clicked_and_a_lane_shows_its_path(open_page: Open) -> None:
    page = open_page()
    page.locator(f"{row(1)} td.why").click()
    page.wait_for_url("**/event?of=*")
    expect(page.locator(".picture .lit.Processed")).to_be_visible()
    page.locator(".lane:not(.chosen) a").first.click()
    expect(page.locator(".lane.chosen")).to_contain_text("DUPLICATE")


def test_command_is_copied(open_page: Open) -> None:
    page = open_page(f"/event?of={id_of(5)}", permissions=["clipboard-read", "clipboard-write"])
    button = page.locator("[data-copy^='once parked replay']")
    button.click()
    expect(button).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("once parked replay ")
