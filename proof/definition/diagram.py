"""Draws the state machine from its definition: `python -m proof.definition.diagram [--check]`.

The picture is laid out by Graphviz (Debian: apt-get install graphviz). --check needs none: the
picture has a hash of the graph and the comments that it was drawn from.
"""

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape

from proof.definition.asl import ROOT, definition, states

PICTURE = ROOT / "docs" / "statemachine.svg"

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
    ("MayClaim", "NoteBreak"): "unwanted or every change",
    ("MayClaim", "Ignored"): "unwanted",
    ("MayClaim", "ReadBreaker"): "short look",
    ("MayClaim", "PutBack"): "requests stopped",
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
    ("MayAct", "Parked"): "unreadable, too old",
    ("MayAct", "PutBack"): "turn taken, late",
    ("MayAct", "WaitForPredecessor"): "still busy",
    ("AdvanceLatest", "ReadLatest"): "refused",
    ("RunAction", "Parked"): "rejected, gave up",
    ("RunAction", "PutBack"): "failed",
    ("HasActed", "PutBack"): "not sent",
    ("HasClaim", "CloseClaim"): "claimed",
    ("HasClaim", "RecordOutcome"): "no claim to end",
    ("HasClaim", "Unrecorded"): "short look, same reason",
}
_BOXES = ("Processed", "SkipDuplicate", "SkipStale", "Ignored", "Parked", "PutBack")

State = Mapping[str, Any]


def _arrows(level: Mapping[str, State]) -> Iterator[tuple[str, str, str]]:
    """Each way from a state to another, an error's only where no other goes there."""
    for name, state in level.items():
        onward = [state.get("Next"), state.get("Default")]
        onward += [choice["Next"] for choice in state.get("Choices", [])]
        usual = dict.fromkeys(target for target in onward if target)
        yield from ((name, target, "usual") for target in usual)
        caught = dict.fromkeys(catch["Next"] for catch in state.get("Catch", []))
        yield from ((name, target, "error") for target in caught if target not in usual)


def _titles(machine: Mapping[str, Any]) -> dict[str, str]:
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
    for name, title in _titles(machine).items():
        picture = picture.replace(f"<title>{name}</title>", f"<title>{escape(title)}</title>")
    picture = re.sub(r"<title>(graph|Start|End)</title>\n", "", picture)
    return picture.replace(">", f">\n<!-- {made_from(machine)} -->\n<style>{_STYLE}</style>", 1)


def made_from(machine: Mapping[str, Any]) -> str:
    """Hashes all that the picture shows."""
    shown = f"{_graph(machine)} {_titles(machine)} {_STYLE}"
    return f"made from {hashlib.sha256(shown.encode()).hexdigest()[:12]}"


def _graph(machine: Mapping[str, Any]) -> str:
    level = machine["States"]
    arrows = list(_arrows(level))
    unused = LABELS.keys() - {(start, end) for start, end, _ in arrows}
    if unused:
        raise ValueError(f"There is no such arrow: {unused}")
    lines = [
        "digraph { id=machine; bgcolor=transparent; nodesep=0.3; ranksep=0.4;",
        'node [shape=box, style=rounded, fontname="Helvetica", fontsize=14, margin="0.12,0.06"];',
        'Start [shape=circle, class="mark", id=Start]; End [shape=circle, class="mark", id=End];',
        f"Start -> {machine['StartAt']} [class=mark];",
        *(_node(name, state) for name, state in level.items()),
        f"{{ rank=same; {'; '.join(_BOXES)} }}",
        *(_line(*arrow) for arrow in arrows),
        *(f'{name} -> End [class="mark"];' for name, state in level.items() if state.get("End")),
        "}",
    ]
    return "\n".join(lines)


def _node(name: str, state: State) -> str:
    shape = _SHAPES.get(state["Type"], "box")
    style = "" if shape != "box" else ", style=rounded"
    kinds = f"{state['Type']} {name}"
    return f'{name} [id={name}, class="{kinds}", shape={shape}{style}];'


def _line(start: str, end: str, kind: str) -> str:
    text = LABELS.get((start, end))
    label = f', label=" {text} ", fontname="Helvetica", fontsize=12' if text else ""
    return f'{start} -> {end} [id="{start}-{end}", class="{kind}"{label}];'


def main(arguments: list[str]) -> int:
    machine = definition()
    if "--check" in arguments:
        is_stale = made_from(machine) not in PICTURE.read_text("utf-8")
        if is_stale:
            print(f"{PICTURE.relative_to(ROOT)} is stale; run python -m proof.definition.diagram")
        return int(is_stale)
    PICTURE.write_text(drawn(machine), "utf-8")
    print(f"{PICTURE.relative_to(ROOT)} drawn")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
