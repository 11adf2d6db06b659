"""The state machine's picture with a way lit; its states' names are the ids in the drawing."""

import re
from functools import cache
from itertools import pairwise

from once.operate.way import Way
from once.project import ROOT

# `python -m proof.definition.diagram` draws it, and `make check` compares it with the definition.
_PICTURE = ROOT / "docs" / "statemachine.svg"
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)


@cache
def _drawn() -> str:
    """Styled by the page's own sheet: its policy takes no style from a drawing."""
    return _STYLE.sub("", _PICTURE.read_text("utf-8"))


@cache
def comments() -> dict[str, str]:
    """Why each state is there."""
    found = re.findall(r'<g id="(\w+)" class="node [^"]*">\s*<title>([^<]*)</title>', _drawn())
    return {name: title.partition(": ")[2] for name, title in found}


def lit(way: Way) -> str:
    names = [step.state for step in way.steps]
    picture = _drawn()
    for name in dict.fromkeys(names):
        picture = picture.replace(f'<g id="{name}" class="', f'<g id="{name}" class="lit ', 1)
    for start, end in dict.fromkeys(pairwise(names)):
        # Into the Map and out of it: the arrows end at its frame.
        start = "SettleEvents" if end == "NextRound" and start != "CheckPace" else start
        arrow = f'<g id="{start}&#45;{end}" class="'
        picture = picture.replace(arrow, f"{arrow}lit ", 1)
    said = f"The way it took: {', '.join(names)}."
    return picture.replace("<svg ", f'<svg role="img" aria-label="{said}" ', 1)
