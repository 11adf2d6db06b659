"""Foreign text is shown and cannot control the terminal; prose breaks between words."""

import io
import json
import unicodedata

import pytest
from rich.table import Table

from once.screen import Row, put, screen, showable

HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07 \x9b31m \u202egnp.exe \u2066x\u2069 \x7f\x85\u2028 \ud800 \r\n"
    ":warning:"
)


WORDS = " ".join(["many words"] * 6)


def steering(text: str) -> set[str]:
    return {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}


# Each character of the first plane, and those of the tags; apart, so that no two are one.
EVERY = " ".join(map(chr, (*range(0x10000), *range(0xE0000, 0xE0200))))


def test_nothing_that_steers_a_terminal_is_left() -> None:
    assert steering(showable(EVERY)) == set()


def test_inside_json_it_means_the_same() -> None:
    assert json.loads(showable(json.dumps(EVERY, ensure_ascii=False))) == EVERY


def test_letters_of_every_language_stay_as_they_are() -> None:
    for text in ("Müller\xa0GmbH", "Ελλάδα", "מוקד", "日本", "👍🏽", "a b"):
        assert showable(text) == text


def shown(part: object, width: int | None = None) -> str:
    console = screen()
    console.file = io.StringIO()
    if width:
        console._force_terminal, console.width = True, width
        console.no_color = True
    put(console, part)  # type: ignore[arg-type]
    return console.file.getvalue()


def test_texts_and_cells_of_tables_are_shown_in_one_line_each() -> None:
    table = Table("", box=None)
    table.add_row(HOSTILE)
    for part in (HOSTILE, table):
        said = shown(part, width=200)
        assert steering(said) == {"\n"}
        assert "\\u001b" in said
        assert ":warning:" in said
        assert len(said.strip("\n").splitlines()) <= 2


def test_prose_breaks_between_words_and_never_inside_a_key() -> None:
    key = "org/conversation/" + "k" * 90
    prose = f"{'so many words ' * 10}{key} and more"
    lines = shown(prose, width=80).splitlines()
    (whole,) = [line for line in lines if key in line]
    assert len(lines) > 3
    assert all(len(line) <= 80 for line in lines if line != whole)
    assert " ".join(lines) == prose


@pytest.mark.parametrize(
    ("part", "begin"),
    [
        (f"    [bold]one[/] {WORDS}", 4),
        (Row.of("  11:06:40.000 [green]✓[/]  ", WORDS), 18),
        (Row.of("x" * 40 + "  ", WORDS), 4),  # little room is left on the right
    ],
    ids=["indented", "row", "row that begins far right"],
)
def test_text_goes_on_under_its_last_column(part: str, begin: int) -> None:
    first, *more = shown(part, width=50).splitlines()
    assert more
    for line in more:
        assert len(line) - len(line.lstrip()) == begin
    assert " ".join(line.strip() for line in (first, *more)).endswith(WORDS)


def test_text_for_a_pipe_is_not_broken() -> None:
    assert shown("so many words " * 10).count("\n") == 1
