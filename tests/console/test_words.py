"""What the pages say in words of their own: no stack is needed to read them."""

import pytest

from once.console.app import _because


@pytest.mark.parametrize(
    ("reason", "detail", "said"),
    [
        ("NOT_JSON", "The text is not JSON", "The text is not JSON"),
        ("REJECTED", "HTTP 422", "the destination refused it for good: HTTP 422"),
        ("REJECTED", None, "the destination refused it for good"),
        # A reason that no version here knows, in one word: there is nothing to say twice.
        ("STRANGE", "nobody knows it", "strange: nobody knows it"),
    ],
)
def test_a_detail_that_says_the_reason_stands_alone_and_any_other_follows_it(
    reason: str, detail: str | None, said: str
) -> None:
    assert _because(reason, detail) == said
