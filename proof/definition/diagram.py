"""Draws the state machine from its definition: `python -m proof.definition.diagram [--check]`.

Whatever file holds the markers gets the drawing between them; --check only says which are stale.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from proof.definition.asl import ROOT, definition, states

FILES = (ROOT / "README.md", ROOT / "docs" / "workflow.md")
BLOCK = re.compile(r"(<!-- drawn: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

_SHAPES = {"Choice": ("{", "}"), "Wait": ("([", "])"), "Map": ("[[", "]]")}
_LABEL_CHARACTERS = 46

State = Mapping[str, Any]
Level = Mapping[str, State]


def drawings() -> dict[str, str]:
    """By the name in the marker: two flowcharts, and a table of the states' comments."""
    machine = definition()
    lane = states(machine)["SettleLanes"]["ItemProcessor"]
    return {
        "batch": _flowchart(machine["States"], machine["StartAt"]),
        "lane": _flowchart(lane["States"], lane["StartAt"]),
        "comments": _comments(states(machine)),
    }


def happy_path(level: Level, start: str) -> list[str]:
    """Where every step succeeds and every question has its usual answer."""
    path = [start]
    while (onward := _usual(level[path[-1]])) and onward not in path:
        path.append(onward)
    return path


def _flowchart(level: Level, start: str) -> str:
    path = happy_path(level, start)
    # Those on the path come first: the drawing puts them into one line from top to bottom.
    nodes = [_node(name, level[name]) for name in [*path, *(n for n in level if n not in path)]]
    lines = [line for name, state in level.items() for line in _arrows(name, state, path)]
    reached = {line.rsplit(" ", 1)[1] for line in lines} | {start}
    lines += [
        f'{name} -.->|"any error"| {catch["Next"]}'
        for name, state in level.items()
        for catch in state.get("Catch", [])
        if catch["Next"] not in reached
    ]
    return "\n".join(["```mermaid", "flowchart TB", *(f"    {e}" for e in nodes + lines), "```"])


def _node(name: str, state: State) -> str:
    opening, closing = _SHAPES.get(state["Type"], ("[", "]"))
    return f"{name}{opening}{name}{closing}"


def _arrows(name: str, state: State, path: list[str]) -> Iterator[str]:
    """Left out: where the errors lead that have no name of their own."""
    if usual := _usual(state):
        yield f"{name} {'==>' if name in path else '-->'} {usual}"
    for choice in state.get("Choices", []):
        if choice["Next"] != usual:
            label = _label(choice.get("Comment", choice["Condition"]))
            yield f'{name} -->|"{label}"| {choice["Next"]}'
    errors: dict[str, list[str]] = {}
    for catch in state.get("Catch", []):
        if catch["ErrorEquals"] != ["States.ALL"]:
            errors.setdefault(catch["Next"], []).extend(catch["ErrorEquals"])
    for target, caught in errors.items():
        label = "<br>".join(_label(error.rsplit(".", 1)[-1]) for error in caught)
        yield f'{name} -.->|"{label}"| {target}'


def _usual(state: State) -> str | None:
    onward: str | None = state.get("Next", state.get("Default"))
    return onward


def _label(text: str) -> str:
    text = text.removeprefix("{%").removesuffix("%}").strip().replace("$", "")
    text = text.replace("ConditionalCheckFailedException", "refused")
    if len(text) > _LABEL_CHARACTERS:
        text = f"{text[:_LABEL_CHARACTERS].rsplit(' ', 1)[0]} …"
    return text.replace("<", "&lt;").replace(">", "&gt;").replace('"', "'")


def _comments(level: Level) -> str:
    rows = [
        f"| `{name}` | {state['Comment'].replace('|', '&#124;')} |"
        for name, state in level.items()
        if "Comment" in state
    ]
    return "\n".join(["| state | why |", "|---|---|", *rows])


def redrawn(text: str) -> str:
    drawn = drawings()
    return BLOCK.sub(lambda block: f"{block[1]}{drawn[block[2]]}\n{block[3]}", text)


def stale(files: tuple[Path, ...] = FILES) -> list[Path]:
    return [file for file in files if file.read_text() != redrawn(file.read_text())]


def main(arguments: list[str]) -> int:
    old = stale()
    for file in old:
        if "--check" in arguments:
            print(f"{file.relative_to(ROOT)} is stale: run python -m proof.definition.diagram")
        else:
            file.write_text(redrawn(file.read_text()))
            print(f"{file.relative_to(ROOT)} drawn")
    return int("--check" in arguments and bool(old))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
