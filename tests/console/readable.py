"""Checks that a page is readable, whatever its width and colours."""

from typing import Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from proof.console import CUT_WORDS

# Of the texts that are seen: which lie on each other, and which are cut off.
LAID_OUT = """() => {
  const found = [], wrong = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const node = walk.currentNode, of = node.parentElement;
    if (!node.data.trim() || !of.checkVisibility({contentVisibilityAuto: true}) || of.closest(
        '.hidden, .skip, .whose, script, option, textarea, .picture, thead, title')) continue;
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
TALLEST = """Math.max(0, ...[...document.querySelectorAll('.rows tbody tr')].map(
  one => one.offsetHeight))"""


WIDE, PHONE = 1280, 390
WIDTHS = (WIDE, 1001, 800, 688, PHONE)
# The other scheme changes nothing but colours.
RULES: dict[Literal["light", "dark"], dict[str, list[str]]] = {
    "light": {"resultTypes": ["violations"]},
    "dark": {"resultTypes": ["violations"], "runOnly": ["color-contrast"]},
}
# axe takes seconds for two hundred rows, which are alike.
FIRST_ROWS = {"exclude": [[".rows tbody tr:nth-child(n+50)"]]}


def assert_readable(page: Page, about: str) -> None:
    """Nothing is cut off, overprinted or wider than the window, at any width, and axe finds
    nothing in either colour, wide or on a phone."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 844})
        at = f"{about}, {width} wide"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, at
        assert page.evaluate(LAID_OUT) == [], at
        assert page.evaluate(CUT_WORDS) == [], at
        assert page.evaluate(TALLEST) < 160, at
        if width in (WIDE, PHONE):
            assert_accessible(page, at)


def assert_accessible(page: Page, about: str) -> None:
    for scheme, rules in RULES.items():
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page, FIRST_ROWS, rules)
        assert found.violations_count == 0, f"{about}, {scheme}: {found.generate_report()}"
