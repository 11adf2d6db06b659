"""Ties each record to what it was made from: a hash of the code that it speaks about.

Run: python -m bench.sources [--strict]. Lists the records whose sources have changed since; with
--strict it ends with 1 if there is one.
"""

import argparse
import ast
import hashlib
import json
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
_SHORT = 12

_MACHINE = "statemachine/dedupe.asl.yaml"
_ENRICHMENT = "functions/enrichment/once_enrichment"
_ACTION = "functions/data_action/once_data_action"
_PACING = "functions/pacing/once_pacing"
_STACK = (_MACHINE, _ENRICHMENT, _ACTION, _PACING)
# Files and folders by record; equipment too, since another judge may come to another verdict.
SOURCES: Mapping[str, tuple[str, ...]] = {
    "answers": ("once/operate", "bench/answers.py"),
    "audit": (_ENRICHMENT, "once/audit", "once/verdict.py", "bench/audit.py"),
    "chaos": (*_STACK, "proof/chaos", "bench/chaos.py"),
    "compare": (*_STACK, "bench/compare"),
    "copies": (*_STACK, "bench/copies.py"),
    "cost": (
        *_STACK,
        "bench/cost.py",
        "bench/machine_log.py",
        "bench/probe.py",
        "bench/events.py",
        "bench/genesys_mix.py",
    ),
    "data_action": (_ACTION, "bench/data_action.py", "bench/imports.py"),
    "enrichment": (
        _ENRICHMENT,
        "bench/enrichment.py",
        "bench/imports.py",
        "bench/events.py",
        "bench/genesys_mix.py",
    ),
    "explorer": (_MACHINE, _PACING, "proof/asl", "proof/explorer", "bench/explore.py"),
    "jsonata": (_MACHINE, "proof/asl", "bench/jsonata.py"),
    "pictures": (_MACHINE, _ENRICHMENT, "once/operate", "bench/pictures.py"),
    "waiting": (_MACHINE, _PACING, "proof/waiting", "bench/waiting.py"),
}


def hashes(record: str, root: Path = ROOT) -> dict[str, str]:
    """Hashes each source of a record."""
    return {source: _hash(root / source) for source in SOURCES[record]}


def stale(root: Path = ROOT, results: Path = RESULTS) -> dict[str, list[str]]:
    """Finds the records that were made from other sources, each with what has changed."""
    found = {}
    for record in SOURCES:
        made_from = json.loads((results / f"{record}.json").read_text("utf-8"))["madeFrom"]
        now = hashes(record, root)
        if changed := [source for source in now if made_from.get(source) != now[source]]:
            found[record] = changed
    return found


def combined(made_from: Mapping[str, str]) -> str:
    """Hashes all sources of a record together, as the documents show it."""
    return _short(json.dumps(made_from, sort_keys=True).encode())[:8]


def _hash(source: Path) -> str:
    files = [source] if source.is_file() else sorted(filter(Path.is_file, source.rglob("*")))
    kept = (file for file in files if not {"__pycache__", "node_modules"} & {*file.parts})
    meant = (f"{file.name} {_meaning(file.suffix, file.read_bytes())}" for file in kept)
    return _short("\n".join(meant).encode())


def _short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:_SHORT]


@cache  # a folder may be a source of many records
def _meaning(suffix: str, content: bytes) -> str:
    """Returns the content of a file without comments, docstrings and layout."""
    match suffix:
        case ".py":
            return json.dumps(_tree(ast.parse(content)))
        case ".yaml":
            return json.dumps(_without_comments(yaml.safe_load(content)), default=str)
        case ".toml":
            return json.dumps(tomllib.loads(content.decode()), default=str)
    return hashlib.sha256(content).hexdigest()


def _tree(node: Any) -> Any:
    """Returns a syntax tree as lists, alike for every version of Python: `ast.dump` is not."""
    if isinstance(node, list):
        return [_tree(one) for one in node if not _is_docstring(one)]
    if isinstance(node, ast.AST):
        return [type(node).__name__, *_fields(node)]
    return repr(node)


def _fields(node: ast.AST) -> Iterator[Any]:
    for name, value in ast.iter_fields(node):
        if value is not None and value != []:
            yield [name, _tree(value)]


def _is_docstring(node: Any) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _without_comments(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_comments(part) for k, part in value.items() if k != "Comment"}
    return [_without_comments(part) for part in value] if isinstance(value, list) else value


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.sources", description=__doc__)
    parser.add_argument("--strict", action="store_true", help="end with 1 if a record is stale")
    found = stale()
    for record, changed in found.items():
        print(f"stale: bench/results/{record}.json, made before a change of {', '.join(changed)}")
    print(f"records: {len(found) or 'none'} of {len(SOURCES)} stale")
    return int(bool(found) and parser.parse_args().strict)


if __name__ == "__main__":
    sys.exit(main())
