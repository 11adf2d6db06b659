"""docs/promises.md names tests that exist, every promise of the explorer, and what was recorded."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import recorded
from proof.explorer.liveness import ENDLESSLY
from proof.explorer.mutant_list import IMPLIED, MUTANTS
from proof.explorer.scenarios import BOUNDED, FULL
from proof.scenarios.scenario import CASES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "promises.md").read_text("utf-8")
NAMED = re.findall(r"`([\w/]+\.py)::(\w+)(?:\[([^\]`]+)\])?`", PAGE)
CASE_OF = {
    "test_no_interleaving_breaks_a_promise": {scenario.name for scenario in BOUNDED},
    "test_a_broken_machine_is_caught": {mutant.name for mutant in MUTANTS} - IMPLIED.keys(),
    "test_on_moto": {path.stem for path in CASES.glob("*.yaml")},
    "test_on_the_embedded_aws": {path.stem for path in CASES.glob("*.yaml")},
}


@pytest.mark.parametrize(("path", "test", "case"), NAMED)
def test_a_test_that_the_page_names_exists(path: str, test: str, case: str) -> None:
    module = ast.parse((ROOT / "tests" / path).read_text("utf-8"))
    tests = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
    assert test in tests
    assert not case or case in CASE_OF[test]


def test_every_sentence_of_the_page_names_a_test() -> None:
    promised, not_promised = PAGE.split("## ")[1:3]
    rows = [line for line in promised.splitlines() if line.startswith("| ")][1:]
    points = not_promised.split("\n- ")[1:]
    assert len(rows) >= 15
    assert len(points) >= 6
    assert [line for line in [*rows, *points] if ".py::test_" not in line] == []


def test_four_million_states_are_recorded_and_no_broken_promise() -> None:
    run = recorded.read("explorer")
    assert run["states"] >= 4_000_000
    assert len(run["scenarios"]) == run["scenariosOf"] == len(FULL)
    assert run["broken"] == []
    assert {one["name"] for one in run["bitten"]} == {mutant.name for mutant in MUTANTS}
    assert run["mutantsMissed"] == []
    assert run["walks"]["walks"] == 200
    assert run["walks"]["disagreements"] == []


def complaints() -> Iterator[str]:
    """What the explorer may say of a broken promise, with … for what it fills in."""
    for module in ("liveness", "promises", "world"):
        text = (ROOT / "proof" / "explorer" / f"{module}.py").read_text("utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Broken":
                yield "".join(_literal(node.args[0]))
    yield f"…{ENDLESSLY}"


def _literal(text: ast.expr) -> Iterator[str]:
    for part in text.values if isinstance(text, ast.JoinedStr) else [text]:
        yield str(part.value) if isinstance(part, ast.Constant) else "…"


@pytest.mark.parametrize("words", sorted(complaints()))
def test_every_promise_of_the_explorer_is_on_the_page(words: str) -> None:
    assert f"| `{words}` |" in PAGE
