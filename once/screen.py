"""The one way to a person's terminal: nothing that others wrote can steer it.

Events, keys, ids and what a destination answers may hold escape sequences, C1 controls and
characters that turn the order of text around. They are shown as JSON writes them.
"""

import json
import re
import unicodedata
from collections.abc import Iterator
from textwrap import TextWrapper
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

# Controls, formats (bidirectional ones among them), lone surrogates, line and paragraph ends.
_STEERING = {"Cc", "Cf", "Cs", "Zl", "Zp"}
# A command with its id and options stays on one line, so that it can be copied.
_COMMAND = re.compile(
    r"\bonce (?:(?:parked|routes) \w+|[a-z]+)"
    r"(?: (?:ID|KEY|[\w-]{36}|--[\w-]+(?: CODE)?))*"
)
_KEPT = "\u00a0"  # no place to break, as textwrap sees it


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
    for line in _wrapped(text, console.width, begin) if is_broken else [text]:
        console.print(line, soft_wrap=True)


def say(text: str) -> None:
    """Prints a line immediately, in a pipe too, exactly as it is but for what steers."""
    print(showable(text), flush=True)


def _wrapped(text: Text, width: int, begin: int) -> Iterator[Text]:
    """Wraps a text, since rich breaks a word that is too long, or nothing."""
    at = begin or len(text.plain) - len(text.plain.lstrip())
    head = text[:at]
    # Where that leaves little room, further left.
    indent = " " * (at if at <= width // 2 else 4)
    wrapper = TextWrapper(
        width,
        initial_indent=" " * at,
        subsequent_indent=indent,
        drop_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
        expand_tabs=False,
        replace_whitespace=False,
    )
    unbroken = _COMMAND.sub(lambda match: match[0].replace(" ", _KEPT), text.plain[at:])
    for number, part in enumerate(wrapper.wrap(unbroken) or [" " * at]):
        part = part[len(indent) if number else len(head) :]
        begin = at + len(part) - len(part.lstrip(" "))
        at += len(part)
        line = Text(indent).append_text(text[begin:at]) if number else head + text[begin:at]
        line.rstrip()
        yield line
