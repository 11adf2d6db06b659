"""The pages lead somewhere: links, headings and files that they name are there."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from once.outcomes import Outcome
from proof.definition.asl import ROOT

PAGES = sorted(
    page
    for page in ROOT.rglob("*.md")
    if not any(part.startswith(".") or part == "node_modules" for part in page.parts)
)
GLOSSARY = ROOT / "docs" / "glossary.md"
ROOMS = ("functions", "once", "proof", "schemas", "statemachine", "tests", "bench", "docs")


def _without_code(text: str) -> str:
    return re.sub(r"^( *)```.*?^\1```", "", text, flags=re.DOTALL | re.MULTILINE)


def _anchors(page: Path) -> set[str]:
    """As GitHub makes them out of headings; and those that a page sets itself."""
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
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    lost = []
    for link in _links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        missing = not target.exists()
        if missing or (anchor and target.suffix == ".md" and anchor not in _anchors(target)):
            lost.append(link)
    assert lost == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_that_is_named_with_its_path_is_there(page: Path) -> None:
    named = re.findall(rf"`((?:{'|'.join(ROOMS)})/[\w./-]+)`", page.read_text("utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_readme_can_be_read_in_five_minutes() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 200


def test_the_glossary_is_short_and_has_every_outcome() -> None:
    text = GLOSSARY.read_text("utf-8")
    assert 20 <= len(re.findall(r"^\| \*\*", text, re.MULTILINE)) <= 30
    assert [outcome for outcome in Outcome if f"`{outcome}`" not in text] == []


def test_every_room_that_proves_says_what_to_run() -> None:
    named = (ROOT / "tests" / "README.md").read_text("utf-8")
    rooms = {one.name for one in (ROOT / "tests").iterdir() if (one / "__init__.py").exists()}
    assert sorted(room for room in rooms if f"tests/{room}" not in named) == []
    libraries = {one.name for one in (ROOT / "proof").iterdir() if (one / "__init__.py").exists()}
    proof = (ROOT / "proof" / "README.md").read_text("utf-8")
    assert sorted(room for room in libraries if f"]({room}" not in proof) == []
