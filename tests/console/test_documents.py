"""The runbook and the other pages, as the console shows them."""

import re

import pytest

from once.console.documents import FOLDER, page
from once.errors import OnceError

PAGES = sorted(path.stem for path in FOLDER.glob("*.md"))
_LINK = re.compile(r'href="(?:([a-z-]+)\.md)?(?:#([^"]+))?"')


@pytest.mark.parametrize("name", PAGES)
def test_each_link_of_a_page_leads_to_a_page_or_a_heading_that_is_there(name: str) -> None:
    _, text = page(name)
    for other, heading in _LINK.findall(text):
        assert other in ("", *PAGES)
        assert not heading or f'id="{heading}"' in page(other or name)[1], f"{other}#{heading}"


@pytest.mark.parametrize("name", PAGES)
def test_nothing_of_how_a_page_is_written_is_shown(name: str) -> None:
    _, text = page(name)
    assert not re.search(r"&lt;(picture|!--|img)|^\|", text, re.M)
    assert 'href="../' not in text


def test_an_unknown_page_is_refused() -> None:
    for name in ("nothing", "../README", "examples/x"):
        with pytest.raises(OnceError, match="There is no page"):
            page(name)
