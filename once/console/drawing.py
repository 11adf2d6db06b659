"""The state machine's picture with a path lit; its states' names are the ids in the drawing."""

import re
from functools import cache
from itertools import pairwise

from once.operate.path import Path
from once.project import ROOT

# `python -m proof.definition.diagram` draws it, and `make check` compares it with the definition.
_PICTURE = ROOT / "docs" / "statemachine.svg"
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)


@cache
def _drawn() -> str:
    """Reads the drawing without its style: the page's policy takes none from a drawing."""
    return _STYLE.sub("", _PICTURE.read_text("utf-8"))


@cache
def comments() -> dict[str, str]:
    """Returns why each state is there."""
    found = re.findall(r'<g id="(\w+)" class="node [^"]*">\s*<title>([^<]*)</title>', _drawn())
    return {name: title.partition(": ")[2] for name, title in found}


def lit(path: Path) -> str:
    names = [step.state for step in path.steps]
    picture = _drawn()
    for name in dict.fromkeys(names):
        picture = picture.replace(f'<g id="{name}" class="', f'<g id="{name}" class="lit ', 1)
    for start, end in dict.fromkeys(pairwise(names)):
        # Into the Map and out of it: the arrows end at its frame.
        ends = end == "NextRound" and start not in ("ReadPace", "AskPace")
        start = "SettleEvents" if ends else start
        arrow = f'<g id="{start}&#45;{end}" class="'
        picture = picture.replace(arrow, f"{arrow}lit ", 1)
    said = f"The path it took: {', '.join(names)}."
    return picture.replace("<svg ", f'<svg role="img" aria-label="{said}" ', 1)
