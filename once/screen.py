"""The one way to a person's terminal: nothing that others wrote can steer it.

Events, keys, ids and what a destination answers may hold escape sequences, C1 controls and
characters that turn the order of text around. They are shown as JSON writes them.
"""

import json
import unicodedata
from collections.abc import Iterator
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

# Controls, formats (bidirectional ones among them), lone surrogates, line and paragraph ends.
_STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def showable(text: str) -> str:
    """Returns a line that a terminal prints and does not obey; inside JSON it means the same."""
    if text.isprintable():
        return text
    return "".join(
        json.dumps(character)[1:-1] if unicodedata.category(character) in _STEERING else character
        for character in text
    )


class Row(str):
    """A text that goes on under where its last column begins, when it is too long for a line."""

    begin = 0

    @classmethod
    def of(cls, head: str, text: str) -> "Row":
        row = cls(head + text)
        row.begin = len(Text.from_markup(head, emoji=False).plain)
        return row


class Whole(str):
    """A text that is never broken, since it is a command to be copied."""


class _Screen(Console):
    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(showable(text), **options)


def screen(*, stderr: bool = False) -> Console:
    """Returns a console on which every text is showable, cells of tables too."""
    # A key may hold what looks like the name of an emoji.
    return _Screen(stderr=stderr, emoji=False)


def put(
    console: Console, part: RenderableType, style: str = "", markup: bool | None = None
) -> None:
    """Prints a text, broken between words and never inside a key, or not at all in a pipe."""
    if not isinstance(part, str):
        console.print(part, highlight=False)
        return
    text = console.render_str(part, style=style, markup=markup, highlight=False)
    begin = part.begin if isinstance(part, Row) else 0
    is_broken = console.is_terminal and not isinstance(part, Whole)
    for line in _wrap(text, console.width, begin) if is_broken else [text]:
        console.print(line, soft_wrap=True)


def say(text: str) -> None:
    """Prints a line immediately, in a pipe too, exactly as it is but for what steers."""
    print(showable(text), flush=True)


def _wrap(text: Text, width: int, begin: int) -> Iterator[Text]:
    """Wraps a text, since rich would break a long word. It goes on below `begin`, or further left
    if that leaves little room."""
    begin = begin or len(text.plain) - len(text.plain.lstrip())
    indent = " " * (begin if begin <= width // 2 else 4)
    line, is_empty = text[:begin], True
    for word in text[begin:].split(" "):
        if not is_empty and line.cell_len + word.cell_len >= width:
            yield line
            line, is_empty = Text(indent), True
        line.append("" if is_empty else " ").append_text(word)
        is_empty = False
    yield line
