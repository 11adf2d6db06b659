"""Keeps the results: one JSON file a record, with a hash of what it was made from.

Run: python -m bench.sources [--strict]. Lists the records whose sources have changed since; with
--strict it ends with 1 if there is one.
"""

import ast
import hashlib
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"
# The definition and the functions are in each hash, and these modules of the bench.
MODULES = {
    "audit": ("bench/audit.py", "bench/events.py", "once/audit"),
    "breaker": ("bench/breaker.py",),
    "compare": ("bench/compare", "bench/product.py", "bench/events.py"),
    "cost": ("bench/cost.py", "bench/costs", "bench/product.py", "bench/events.py"),
    "jsonata": ("bench/jsonata.py", "proof/asl"),
    "outage": ("bench/simulator.py", "proof/sim"),
    "simulator": ("bench/simulator.py", "proof/sim"),
    "speed": ("bench/speed.py", "bench/events.py"),
}
_PRODUCT = ("statemachine/once.asl.yaml", "functions")


def write(record: str, result: dict[str, Any]) -> None:
    """Writes a record with its date and the hash of its sources."""
    about = {"date": datetime.now(UTC).date().isoformat(), "madeFrom": made_from(record)}
    text = json.dumps(about | result, indent=2, ensure_ascii=False)
    (RESULTS / f"{record}.json").write_text(f"{text}\n", "utf-8")


def read(record: str) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((RESULTS / f"{record}.json").read_text("utf-8"))
    return result


def made_from(record: str) -> str:
    """Hashes the definition, the functions and the modules of a record, but for their comments."""
    files = [
        file
        for source in (*_PRODUCT, *MODULES[record])
        for file in ([ROOT / source] if (ROOT / source).is_file() else (ROOT / source).rglob("*"))
        if file.suffix in (".py", ".yaml", ".toml") and "node_modules" not in file.parts
    ]
    content = "\n".join(f"{file.name} {_meaning(file)}" for file in sorted(set(files)))
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def _meaning(file: Path) -> str:
    text = file.read_text("utf-8")
    if file.suffix == ".py":
        return json.dumps(_tree(ast.parse(text)))
    if file.suffix == ".yaml":
        return json.dumps(_without_comments(yaml.safe_load(text)), default=str)
    return text


def _tree(node: Any) -> Any:
    """Returns a syntax tree as lists, alike in every version of Python, without its docstrings."""
    if isinstance(node, list):
        return [_tree(each) for each in node if not _is_docstring(each)]
    if isinstance(node, ast.AST):
        fields = ((name, value) for name, value in ast.iter_fields(node) if value)
        return [type(node).__name__, *([name, _tree(value)] for name, value in fields)]
    return repr(node)


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
    records = sorted(file.stem for file in RESULTS.glob("*.json"))
    stale = [record for record in records if read(record)["madeFrom"] != made_from(record)]
    for record in stale:
        print(f"stale: bench/results/{record}.json, made from other sources than there are now")
    print(f"records: {len(stale) or 'none'} of {len(records)} stale")
    return int(bool(stale) and "--strict" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
