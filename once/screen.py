"""The one way to a person's terminal: nothing that others wrote can steer it.

Events, keys, ids and what a destination answers may hold escape sequences, C1 controls and
characters that turn the order of text around. They are shown as JSON writes them.
"""

import json
import unicodedata
from collections.abc import Iterator
from textwrap import TextWrapper
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

# Controls, formats (bidirectional ones among them), lone surrogates, line and paragraph ends.
_STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def showable(text: str) -> str:
    """Text that a terminal prints and does not obey, on one line; inside JSON it means the same."""
    if text.isprintable():
        return text
    return "".join(
        json.dumps(character)[1:-1] if unicodedata.category(character) in _STEERING else character
        for character in text
    )


class _Screen(Console):
    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(showable(text), **options)


def screen(*, stderr: bool = False, quiet: bool = False) -> Console:
    """A console on which every text is showable, cells of tables too."""
    # A key may hold what looks like the name of an emoji.
    return _Screen(stderr=stderr, quiet=quiet, emoji=False)


def put(
    console: Console, part: RenderableType, style: str = "", markup: bool | None = None
) -> None:
    """A text breaks between words, never inside a key; what is piped on is not broken at all."""
    if not isinstance(part, str):
        console.print(part, highlight=False)
        return
    text = console.render_str(part, style=style, markup=markup, highlight=False)
    for line in _wrapped(text, console.width) if console.is_terminal else [text]:
        console.print(line, soft_wrap=True)


def _wrapped(text: Text, width: int) -> Iterator[Text]:
    """rich itself breaks a word that is too long, or nothing."""
    indent = " " * (len(text.plain) - len(text.plain.lstrip()))
    wrapper = TextWrapper(
        width - len(indent),
        drop_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
        expand_tabs=False,
        replace_whitespace=False,
    )
    at = len(indent)
    for part in wrapper.wrap(text.plain[at:]) or [""]:
        begin = at + len(part) - len(part.lstrip())
        at += len(part)
        line = Text(indent).append_text(text[begin:at])
        line.rstrip()
        yield line


def say(text: str) -> None:
    """A line for a person or the next command in a pipe, exactly as it is but for what steers."""
    print(showable(text))
