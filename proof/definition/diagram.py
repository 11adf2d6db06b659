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
  .Processed path, .ProcessedUnconfirmed path { fill: #aceebb; }
  .SkipDuplicate path, .SkipStale path { fill: #e2d4ff; }
  .Parked path { fill: #ffd8b5; } .Returned path { fill: #ffcecb; }
  .Ignored path { fill: #fbe3f4; }
  .edge path { stroke: #57606a; fill: none; } .edge polygon { stroke: #57606a; fill: #57606a; }
  .error path { stroke: #cf222e; stroke-dasharray: 5 3; }
  .error polygon { stroke: #cf222e; fill: #cf222e; }
  .cluster path { fill: none; stroke: #8c959f; stroke-width: 2; }
  .cluster text { font-weight: bold; }
  .edge text { font-size: 12px; fill: #57606a; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .node polygon, .node path, .node ellipse { fill: #0c2d6b; stroke: #8b949e; }
    .Choice polygon, .Choice path { fill: #4b3a00; }
    .Pass path, .Wait polygon, .Wait path, .mark ellipse { fill: #21262d; }
    .Processed path, .ProcessedUnconfirmed path { fill: #0f5323; }
    .SkipDuplicate path, .SkipStale path { fill: #3c1e70; }
    .Parked path { fill: #762d0a; } .Returned path { fill: #78191b; }
    .Ignored path { fill: #5e1f4c; }
    .edge path { stroke: #8b949e; } .edge polygon { stroke: #8b949e; fill: #8b949e; }
    .error path { stroke: #ff7b72; } .error polygon { stroke: #ff7b72; fill: #ff7b72; }
    .cluster path { stroke: #6e7681; } .edge text { fill: #adbac7; }
  }
"""

# What an arrow is taken for, at the forks where the names of the states do not say it.
LABELS = {
    ("NextRound", "SettleEvents"): "events are left",
    ("NextRound", "ReturnEvents"): "some return",
    ("NextRound", "RecordOutcomes"): "all are settled",
    ("ClaimKey", "ReadClaim"): "refused",
    ("ClaimKey", "Returned"): "no response",
    ("JudgeClaim", "ClaimKey"): "free",
    ("JudgeClaim", "SkipStale"): "older",
    ("CheckOrder", "AdvanceLatest"): "order matters",
    ("CheckOrder", "CloseClaim"): "no route, or expired",
    ("AdvanceLatest", "ReadLatest"): "row is newer",
    ("JudgeOrder", "AdvanceLatest"): "unsure",
    ("RunAction", "ParkEvent"): "response too large",
    ("JudgeFailure", "CloseClaim"): "failed: release",
    ("EndUnacted", "SkipDuplicate"): "unchanged",
}

State = Mapping[str, Any]
Level = Mapping[str, State]


class Arrow(NamedTuple):
    start: str
    end: str
    error: bool
    label: str = ""


def arrows(level: Level) -> Iterator[Arrow]:
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
    picture = re.sub(r"<title>(graph|cluster_\w+|Start|End)</title>\n", "", picture)
    return picture.replace(">", f">\n<style>{_STYLE}</style>", 1)


def _graph(machine: Mapping[str, Any]) -> str:
    (around,) = (name for name, state in machine["States"].items() if state["Type"] == "Map")
    inner = machine["States"][around]["ItemProcessor"]
    ends = [name for name, state in inner["States"].items() if state.get("End")]
    lines = [
        "digraph { id=machine; bgcolor=transparent; compound=true; nodesep=0.35; ranksep=0.42;",
        'node [shape=box, style=rounded, fontname="Helvetica", fontsize=14, margin="0.12,0.06"];',
        'Start [shape=circle, class="mark", id=Start]; End [shape=circle, class="mark", id=End];',
        f"Start -> {machine['StartAt']} [class=mark];",
        *(_node(name, state) for name, state in machine["States"].items() if name != around),
        "{ rank=same; AskPace; NextRound }",
        f'subgraph cluster_map {{ id={around}; class="cluster"; style=rounded; labeljust=l;',
        f'label="  {around} (one event each)";',
        *(_node(name, state) for name, state in inner["States"].items()),
        f"{{ rank=same; {'; '.join(ends)} }}",
        "}",
        *(_line(arrow, around, inner["StartAt"], ends) for arrow in arrows(inner["States"])),
        *(_line(arrow, around, inner["StartAt"], ends) for arrow in arrows(machine["States"])),
        *(
            f'{name} -> End [class="mark"];'
            for name, state in machine["States"].items()
            if state.get("End")
        ),
        "}",
    ]
    return "\n".join(lines)


def _node(name: str, state: State) -> str:
    shape = _SHAPES.get(state["Type"], "box")
    style = "" if shape != "box" else ", style=rounded"
    outlined = ", peripheries=2" if state.get("End") and state["Type"] == "Pass" else ""
    kinds = f"{state['Type']} {name}"
    return f'{name} [id={name}, class="{kinds}", shape={shape}{style}{outlined}];'


def _line(arrow: Arrow, around: str, first: str, ends: list[str]) -> str:
    """An arrow into the Map goes to its first state, an arrow out of it begins at its frame."""
    start, end, extra = arrow.start, arrow.end, ""
    if end == around:
        end = first
    elif start == around and arrow.error:
        start, extra = ends[-1], ", ltail=cluster_map"
    elif start == around:
        start, extra = first, ", ltail=cluster_map, constraint=false"
    if arrow.label:
        extra += f', label=" {arrow.label} ", fontname="Helvetica", fontsize=12'
    kind = "error" if arrow.error else "usual"
    return f'{start} -> {end} [id="{arrow.start}-{arrow.end}", class="{kind}"{extra}];'


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
    (around,) = (name for name, state in machine["States"].items() if state["Type"] == "Map")
    inner = machine["States"][around]["ItemProcessor"]["States"]
    wanted = {name: title for name, title in titles(machine).items() if name != around}
    wanted_ways = {*arrows(machine["States"]), *arrows(inner)}
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
