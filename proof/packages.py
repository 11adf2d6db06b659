"""Says which package may import which, and draws it: `python -m proof.packages [--check]`."""

import ast
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from proof.definition.asl import ROOT

PAGE = ROOT / "CONTRIBUTING.md"
_DRAWN = re.compile(r"(<!-- drawn: packages -->\n).*?(<!-- end -->)", re.DOTALL)
_INDENT = "    "

# A folder, and the folders that it may import from besides itself.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "functions/enrichment": (),
    "functions/data_action": (),
    "functions/pacing": (),
    "once": ("functions",),
    "schemas": ("functions", "once"),
    "proof": ("functions", "schemas", "once"),
}

# A package of `once/`, and the packages it may import from besides itself. All may import the
# modules that lie in `once/` itself; those import from no package.
WITHIN_ONCE: dict[str, tuple[str, ...]] = {
    "": (),
    "examples": (),
    "local": (),
    "genesys": (),
    "routes": (),
    "operate": ("local", "genesys", "routes"),
    "console": ("operate",),
    "run": ("local", "genesys", "operate", "console"),
    "audit": (),
}


def imports(folder: str) -> Iterator[tuple[Path, str]]:
    """Yields each file below a folder with each module it imports."""
    for file in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                for name in node.names:
                    yield file, name.name
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for name in node.names:
                    yield file, f"{node.module}.{name.name}"


def drawing() -> str:
    """Returns a Mermaid graph; an arrow that others imply is left out."""
    functions = [name.partition("/")[2] for name in MAY_IMPORT if name.startswith("functions/")]
    folders = {name: MAY_IMPORT[name] for name in MAY_IMPORT if "/" not in name}
    packages = {name: others for name, others in WITHIN_ONCE.items() if name}
    lines = [
        "graph LR",
        *(_INDENT + arrow for arrow in _arrows(folders)),
        f"{_INDENT}subgraph once",
        *(2 * _INDENT + line for line in (*packages, *_arrows(packages))),
        f"{_INDENT}end",
        f"{_INDENT}subgraph functions",
        *(2 * _INDENT + name for name in functions),
        f"{_INDENT}end",
    ]
    return "\n".join(["```mermaid", *lines, "```", ""])


def _arrows(allowed: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for package, others in allowed.items():
        implied = {far for other in others for far in _reached(other, allowed)}
        yield from (f"{package} --> {other}" for other in others if other not in implied)


def _reached(package: str, allowed: Mapping[str, tuple[str, ...]]) -> set[str]:
    others = allowed.get(package, ())
    return {*others, *(far for other in others for far in _reached(other, allowed))}


def main(arguments: list[str]) -> int:
    before = PAGE.read_text("utf-8")
    after = _DRAWN.sub(lambda found: f"{found[1]}{drawing()}{found[2]}", before)
    if "--check" in arguments:
        if before != after:
            print(f"{PAGE.name} draws other packages: run python -m proof.packages")
        return int(before != after)
    PAGE.write_text(after, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
