"""Lights the path of an execution in the drawing of the state machine."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from once.project import ROOT

_PICTURE = ROOT / "docs" / "statemachine.svg"
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)


@cache
def _read_drawing() -> str:
    """Reads the drawing without its style: the page's policy takes none from a drawing."""
    return _STYLE.sub("", _PICTURE.read_text("utf-8"))


def light(states: Sequence[str]) -> str:
    """Returns the drawing with these states and the arrows between them lit. The ids in it are the
    names of the states."""
    picture = _read_drawing()
    path = ["Start", *states, "End"]
    for state in dict.fromkeys(path):
        picture = picture.replace(f'<g id="{state}" class="', f'<g id="{state}" class="lit ', 1)
    for start, end in dict.fromkeys(pairwise(path)):
        arrow = f'<g id="{start}&#45;{end}" class="'
        picture = picture.replace(arrow, f"{arrow}lit ", 1)
    label = f"The path it took: {', '.join(states)}."
    return picture.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)
