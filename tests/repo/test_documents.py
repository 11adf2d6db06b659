"""The links of the pages lead to files and headings, and the files that they name exist."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from once.model.reasons import Outcome
from once.project import EXAMPLE
from proof.definition.asl import ROOT

PAGES = sorted(
    page
    for page in ROOT.rglob("*.md")
    if not any(part.startswith(".") or part == "node_modules" for part in page.parts)
)
FOLDERS = ("functions", "once", "proof", "schemas", "statemachine", "tests", "bench", "docs")


def _without_code(text: str) -> str:
    return re.sub(r"^( *)```.*?^\1```", "", text, flags=re.DOTALL | re.MULTILINE)


def _anchors(page: Path) -> set[str]:
    """Returns the anchors that GitHub makes of headings, and those that a page sets itself."""
    text = _without_code(page.read_text("utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    made = {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}
    return made | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def _links(page: Path) -> Iterator[str]:
    text = _without_code(page.read_text("utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)|(?:src|srcset|href)=\"([^\"]+)\"", text):
        link = "".join(target)
        if "://" not in link and not link.startswith("mailto:"):
            yield link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    lost = []
    for link in _links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        missing = not target.exists()
        if missing or (anchor and target.suffix == ".md" and anchor not in _anchors(target)):
            lost.append(link)
    assert lost == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_file_exists(page: Path) -> None:
    named = re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./-]+)`", page.read_text("utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_readme_counts_the_example_as_its_story_does() -> None:
    story = json.loads(EXAMPLE.with_suffix(".expected.json").read_text("utf-8"))
    events = {one["happening"] for one in story if one["outcome"] != Outcome.PARKED}
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert f"{len(story)} messages of {len(events)} events" in readme
