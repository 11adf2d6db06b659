"""Draws the state machine from its definition: `python -m proof.definition.diagram [--check]`.

The picture is laid out by Graphviz (Debian: apt-get install graphviz). --check needs none: it
compares the states, arrows, labels and comments in the picture with those of the definition.
"""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from proof.definition.asl import ROOT, definition, states

PICTURE = ROOT / "docs" / "statemachine.svg"

_SVG = "{http://www.w3.org/2000/svg}"
_SHAPES = {"Choice": "hexagon", "Wait": "octagon"}
_STYLE = """
  text { font: 14px Helvetica, Arial, sans-serif; fill: #24292f; }
  .node polygon, .node path, .node ellipse { fill: #ddf4ff; stroke: #57606a; }
  .Choice polygon, .Choice path { fill: #fff8c5; }
  .Pass path, .Wait polygon, .Wait path, .mark ellipse { fill: #f6f8fa; }
  .Processed path { fill: #aceebb; }
  .SkipDuplicate path, .SkipStale path { fill: #e2d4ff; }
  .Parked path { fill: #ffd8b5; } .PutBack path { fill: #ffcecb; }
  .Ignored path { fill: #fbe3f4; }
  .edge path { stroke: #57606a; fill: none; } .edge polygon { stroke: #57606a; fill: #57606a; }
  .error path { stroke: #cf222e; stroke-dasharray: 5 3; }
  .error polygon { stroke: #cf222e; fill: #cf222e; }
  .edge text { font-size: 12px; fill: #57606a; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .node polygon, .node path, .node ellipse { fill: #0c2d6b; stroke: #8b949e; }
    .Choice polygon, .Choice path { fill: #4b3a00; }
    .Pass path, .Wait polygon, .Wait path, .mark ellipse { fill: #21262d; }
    .Processed path { fill: #0f5323; }
    .SkipDuplicate path, .SkipStale path { fill: #3c1e70; }
    .Parked path { fill: #762d0a; } .PutBack path { fill: #78191b; }
    .Ignored path { fill: #5e1f4c; }
    .edge path { stroke: #8b949e; } .edge polygon { stroke: #8b949e; fill: #8b949e; }
    .error path { stroke: #ff7b72; } .error polygon { stroke: #ff7b72; fill: #ff7b72; }
    .edge text { fill: #adbac7; }
  }
"""

# What an arrow is taken for, at the forks where the names of the states do not say it.
LABELS = {
    ("MayClaim", "NoteBreak"): "in between",
    ("MayClaim", "Ignored"): "unwanted",
    ("MayClaim", "ReadBreaker"): "waits",
    ("MayClaim", "PutBack"): "paused",
    ("ClaimKey", "ReadClaim"): "refused",
    ("ClaimKey", "PutBack"): "no response",
    ("JudgeClaim", "ClaimKey"): "free",
    ("JudgeClaim", "WaitForOwner"): "held",
    ("JudgeClaim", "SkipDuplicate"): "copy",
    ("JudgeClaim", "SkipStale"): "older",
    ("MayAct", "AdvanceLatest"): "order matters",
    ("MayAct", "ReadPredecessor"): "busy, repeated",
    ("MayAct", "RunAction"): "its turn",
    ("MayAct", "SkipStale"): "older",
    ("MayAct", "SkipDuplicate"): "unchanged",
    ("AdvanceLatest", "ReadLatest"): "newer, or busy",
    ("RunAction", "Parked"): "for a person",
    ("RunAction", "PutBack"): "failed",
    ("HasActed", "Processed"): "acted",
    ("HasActed", "PutBack"): "not now",
    ("HasClaim", "CloseClaim"): "claimed",
    ("HasClaim", "Unrecorded"): "short look",
}
_BOXES = ("Processed", "SkipDuplicate", "SkipStale", "Ignored", "Parked", "PutBack")

State = Mapping[str, Any]


class Arrow(NamedTuple):
    start: str
    end: str
    error: bool
    label: str = ""


def arrows(level: Mapping[str, State]) -> Iterator[Arrow]:
    """Each way from a state to another, an error's only where no other goes there."""
    for name, state in level.items():
        onward = [state.get("Next"), state.get("Default")]
        onward += [choice["Next"] for choice in state.get("Choices", [])]
        usual = dict.fromkeys(target for target in onward if target)
        yield from (_arrow(name, target, error=False) for target in usual)
        caught = dict.fromkeys(catch["Next"] for catch in state.get("Catch", []))
        yield from (_arrow(name, target, error=True) for target in caught if target not in usual)


def _arrow(start: str, end: str, *, error: bool) -> Arrow:
    return Arrow(start, end, error, LABELS.get((start, end), ""))


def titles(machine: Mapping[str, Any]) -> dict[str, str]:
    return {name: f"{name}: {state['Comment']}" for name, state in states(machine).items()}


def drawn(machine: Mapping[str, Any]) -> str:
    """Draws the picture. The states' names are ids, so that a page can highlight a path."""
    laid_out = subprocess.run(
        ["dot", "-Tsvg"], input=_graph(machine), capture_output=True, text=True, check=True
    ).stdout
    picture = laid_out[laid_out.index("<svg") :]
    picture = re.sub(r'<svg width="\d+pt" height="\d+pt"', "<svg", picture)
    picture = re.sub(r' (fill|stroke|font-family|font-size|stroke-dasharray)="[^"]*"', "", picture)
    picture = re.sub(r"<!--.*?-->\n", "", picture, flags=re.DOTALL)
    for name, title in titles(machine).items():
        picture = picture.replace(f"<title>{name}</title>", f"<title>{escape(title)}</title>")
    picture = re.sub(r"<title>(graph|Start|End)</title>\n", "", picture)
    return picture.replace(">", f">\n<style>{_STYLE}</style>", 1)


def _graph(machine: Mapping[str, Any]) -> str:
    level = machine["States"]
    lines = [
        "digraph { id=machine; bgcolor=transparent; nodesep=0.3; ranksep=0.4;",
        'node [shape=box, style=rounded, fontname="Helvetica", fontsize=14, margin="0.12,0.06"];',
        'Start [shape=circle, class="mark", id=Start]; End [shape=circle, class="mark", id=End];',
        f"Start -> {machine['StartAt']} [class=mark];",
        *(_node(name, state) for name, state in level.items()),
        f"{{ rank=same; {'; '.join(_BOXES)} }}",
        *(_line(arrow) for arrow in arrows(level)),
        *(f'{name} -> End [class="mark"];' for name, state in level.items() if state.get("End")),
        "}",
    ]
    return "\n".join(lines)


def _node(name: str, state: State) -> str:
    shape = _SHAPES.get(state["Type"], "box")
    style = "" if shape != "box" else ", style=rounded"
    kinds = f"{state['Type']} {name}"
    return f'{name} [id={name}, class="{kinds}", shape={shape}{style}];'


def _line(arrow: Arrow) -> str:
    kind = "error" if arrow.error else "usual"
    label = f', label=" {arrow.label} ", fontname="Helvetica", fontsize=12' if arrow.label else ""
    return f'{arrow.start} -> {arrow.end} [id="{arrow.start}-{arrow.end}", class="{kind}"{label}];'


def shown(picture: str) -> tuple[dict[str, str], set[Arrow]]:
    """The states, with their comments, and the arrows that a picture shows."""
    found: dict[str, str] = {}
    ways: set[Arrow] = set()
    for group in ElementTree.fromstring(picture).iter(f"{_SVG}g"):  # noqa: S314 - our own
        kinds = group.get("class", "").split()
        title = group.find(f"{_SVG}title")
        if "node" in kinds and "mark" not in kinds:
            found[group.get("id", "")] = (title.text or "") if title is not None else ""
        elif "edge" in kinds and ("usual" in kinds or "error" in kinds):
            start, _, end = group.get("id", "").partition("-")
            label = group.findtext(f"{_SVG}text", "").strip()
            ways.add(Arrow(start, end, "error" in kinds, label))
    return found, ways


def stale(picture: str, machine: Mapping[str, Any]) -> list[str]:
    """Lists where the picture differs from the definition."""
    found, ways = shown(picture)
    wanted, wanted_ways = titles(machine), set(arrows(machine["States"]))
    names = {name for name in {*found, *wanted} if found.get(name) != wanted.get(name)}
    changed = {(way.start, way.end) for way in ways ^ wanted_ways}
    changed |= LABELS.keys() - {(way.start, way.end) for way in wanted_ways}
    return sorted(names) + sorted(f"{start} to {end}" for start, end in changed)


def main(arguments: list[str]) -> int:
    machine = definition()
    if "--check" in arguments:
        old = stale(PICTURE.read_text("utf-8"), machine)
        if old:
            print(f"{', '.join(old)}: stale; run python -m proof.definition.diagram")
        return int(bool(old))
    PICTURE.write_text(drawn(machine), "utf-8")
    print(f"{PICTURE.relative_to(ROOT)} drawn")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
