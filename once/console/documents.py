"""The project's pages, as findings and alarms name them: docs/runbook.md#breaker-open."""

import re
from functools import cache
from itertools import pairwise

from markdown_it import MarkdownIt

from once.errors import OnceError
from once.project import ROOT

FOLDER = ROOT / "docs"
_NO_SLUG = re.compile(r"[^\w\- ]")


@cache
def page(name: str) -> tuple[str, str]:
    """Returns its title, and its text as HTML."""
    path = {one.stem: one for one in FOLDER.glob("*.md")}.get(name)
    if path is None:
        raise OnceError(f"There is no page docs/{name}.md.")
    reader = MarkdownIt("commonmark").enable("table")
    tokens = reader.parse(path.read_text("utf-8"))
    title = name
    for token, within in pairwise(tokens):
        if token.type == "heading_open":
            # The anchor of a heading as GitHub makes it.
            slug = _NO_SLUG.sub("", within.content.lower()).strip().replace(" ", "-")
            token.attrSet("id", slug)
            title = within.content if token.tag == "h1" else title
        for child in within.children or ():
            if str(child.attrGet("href") or "").startswith("../"):
                del child.attrs["href"]  # a link that leads to none of these pages becomes text
    # Comments and pictures of other places; the text is our own, and its HTML is for GitHub.
    shown = [token for token in tokens if token.type != "html_block"]
    return title, str(reader.renderer.render(shown, reader.options, {}))
