"""One event that two integrations publish, through the real template, for the README.

`python -m bench.pictures` records what `once explain` says of it, and bench.numbers draws that.
"""

import io
import os
import re
import subprocess
import sys
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from bench import recorded
from bench.events import Centre, Event
from once.operate import log
from once.operate.running import Running, kept
from proof.deployed import deployed
from proof.story import CALL

COLUMNS = 64  # readable on a phone
_CLOCK = 16  # how wide the column of times is
_BLACK, _PAPER, _INK = (110, 118, 129), (22, 27, 34), (230, 237, 243)
_COLOURS = [_BLACK, (255, 123, 114), (126, 231, 135), (227, 179, 65)]
_THEME = TerminalTheme(_PAPER, _INK, [*_COLOURS, (121, 192, 255), (210, 168, 255), _INK, _INK])
_PAGE = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg"
 role="img"><title>What once explain says of the conversation</title>
<style>.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace;
 font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs>{lines}</defs>
<rect width="100%" height="100%" rx="8" fill="#161b22"/>
<g transform="translate(9, 24)" class="{unique_id}-matrix">{backgrounds}{matrix}</g>
</svg>
"""
_UUID = re.compile(r"([0-9a-f]{8})-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")


def sent(now_ms: int) -> list[Event]:
    """The same change, as two integrations of one organisation publish it."""
    centre = Centre(1)
    event = centre.conversation("acd.start", now_ms, CALL)
    return [centre.published_again(event, 0, name) for name in ("sales-events", "wallboard")]


def record() -> dict[str, Any]:
    with deployed() as stack, tempfile.TemporaryDirectory() as folder:
        for event in sent(log.now_ms()):
            stack.settle(event)
        with chdir(folder), kept() as note:
            note(Running.here(stack.stack.aws, stack.destination, "once"))
            return {"said": _once("explain", CALL)}


def _once(*words: str) -> str:
    """Runs a command as in a terminal of any width."""
    return subprocess.run(  # noqa: S603 - our own command
        [Path(sys.executable).with_name("once"), *words],
        env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": "1000"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def shown() -> str:
    """The picture. Ids are shortened, and lines that are too long go on below themselves."""
    console = Console(
        record=True, width=COLUMNS, force_terminal=True, file=io.StringIO(), emoji=False
    )
    said = recorded.read("pictures")["said"]
    console.print(Text.from_markup(f"[bold]$ once explain {short(CALL)}[/]"))
    for line in short(said).splitlines()[1:]:
        text = Text.from_ansi(line.rstrip())
        beside = 0 if line[:1].isalpha() or len(text) <= COLUMNS else _CLOCK
        first, *others = text[beside:].wrap(console, COLUMNS - beside, overflow="fold") or [Text()]
        console.print(text[:beside] + first, highlight=False)
        for other in others:
            console.print(Text(" " * beside) + other, highlight=False)
    return console.export_svg(title="", theme=_THEME, code_format=_PAGE, unique_id="explain")


def short(text: str) -> str:
    return _UUID.sub(r"\1…", text)


def main() -> int:
    recorded.write("pictures", record())
    return 0


if __name__ == "__main__":
    sys.exit(main())
